#pragma once
// Ranks that share a sequence get the same samples. Each drops the other ranks' tokens before the task sees
// the batch, so that labels, loss weights and token counts are those of its own tokens.

#include "runtime/rank/feed/context_place.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Keeps this rank's tokens of every tensor [B, S, ..] of a batch with input_ids [B, S]. Other
// tensors stay whole, and so does document_starts, because a token attends to its document's tokens
// on all ranks. Adds position_ids (0 .. S - 1) if absent; sequence_length, int64 []: one more
// than the largest position; and places_in_rows, int64 [own S]: where in the whole rows this rank's tokens stand. With
// one rank it returns the batch unchanged. Input error without input_ids, or when the ranks cannot share S.
TensorMap split_sequence(TensorMap batch, const ContextPlace& place);

}  // namespace d9d
