#pragma once
// The copy of an fp32 tensor to bf16 with stochastic rounding (OPT-04): the expected result is the source, so
// that an optimizer of one's own may keep its weights or moments in bf16 and lose no small update in the mean.

#include <ATen/core/Tensor.h>

#include "kernels/optimizer/stochastic_adamw_pass.hpp"

namespace d9d::kernels {

// Rounds `source` (fp32) into `target` (bf16, contiguous) of the same shape, in place. Element i of the tensor takes
// the lower 16 bits of the word i % 4 of key.words(i / 4), so that every device rounds to the same bits. A key serves
// one tensor at one step: RandomStream (runtime/base/rng.hpp) makes it from the job's seed, a name and the step.
// c10::Error names the shapes and dtypes that do not fit. No autograd.
void stochastic_copy(const at::Tensor& source, const at::Tensor& target, const RandomKey& key);

// The same for a block of a tensor: `place` says where its elements are there
// (runtime/train/optimizer/block_place.hpp), so that every mesh rounds to the same bits.
void stochastic_copy(const at::Tensor& source, const at::Tensor& target, const RandomKey& key,
                     const BlockPlace& place);

}  // namespace d9d::kernels
