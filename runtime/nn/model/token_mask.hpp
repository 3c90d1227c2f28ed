#pragma once
// Which positions of a batch hold a token, and which only fill a row up.

#include <ATen/core/Tensor.h>

#include "runtime/nn/shard/activation_shards.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// The shared input token_mask, bool [B, S]: false where a row is filled up. Of these tokens the block that this rank of
// tensor parallelism holds, as `hidden` [B, S / ranks, H] has it. Undefined where the input is absent: nothing is filled
// up. Input error for another shape or dtype.
at::Tensor token_mask(const TensorMap& shared, const at::Tensor& hidden, const ActivationShards& tokens);

// As token_mask() of the inputs of each depth of multi-token prediction, in one tensor [B, S / ranks, depths]:
// next_token_mask, bool [B, S, depths]. Undefined where it is absent.
at::Tensor next_token_mask(const TensorMap& shared, const at::Tensor& hidden, std::int64_t depths,
                           const ActivationShards& tokens);

}  // namespace d9d
