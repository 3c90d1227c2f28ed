#pragma once
// Tells the positions of a batch that hold a token from those that only fill a row up.

#include <ATen/core/Tensor.h>

#include "runtime/nn/shard/activation_shards.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Returns this rank's block of the shared input token_mask, bool [B, S], false where a row is filled up. The
// block is that of `hidden` [B, S / ranks, H] under tensor parallelism. Undefined when the input is absent:
// every position holds a token. Input error for another shape or dtype.
at::Tensor token_mask(const TensorMap& shared, const at::Tensor& hidden, const ActivationShards& tokens);

// Does the same for next_token_mask, bool [B, S, depths], the masks of all depths of multi-token prediction.
// Returns [B, S / ranks, depths].
at::Tensor next_token_mask(const TensorMap& shared, const at::Tensor& hidden, std::int64_t depths,
                           const ActivationShards& tokens);

}  // namespace d9d
