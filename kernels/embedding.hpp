#pragma once

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// weight[ids]. ids int64 [..] in [0, V), weight [V, H] -> [.., H]. An id outside is an error that names it.
// The gradient is summed per row in the order of the tokens: the same on every run and thread count.
at::Tensor embedding(const at::Tensor& ids, const at::Tensor& weight);

// The same where weight holds the rows `first` and following of a vocabulary of `vocab_size`: zeros for ids
// of other rows, so that the sum over the ranks that hold the parts is weight[ids].
at::Tensor embedding_of_part(const at::Tensor& ids, const at::Tensor& weight, int64_t first,
                             int64_t vocab_size);

}  // namespace d9d::kernels
