#pragma once
// Rows of a batch that are filled up where a token would see what fills them up: on the left, and on the right of
// models whose tokens see those after them.

#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Returns document_starts, int64 [B, S], in which what fills up is a document of its own (starts_apart()); undefined
// where no token would see any of it. By the batch's token_mask [B, S] and document_starts, whole rows on the host.
// `causal`: tokens see none after them. A causal model need not be told of what comes behind all tokens of a row, so
// its attention stays the one of whole rows there.
at::Tensor starts_without_seen_filling(const TensorMap& batch, bool causal);

}  // namespace d9d
