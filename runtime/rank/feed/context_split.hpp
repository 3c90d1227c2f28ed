#pragma once
// Ranks that share a sequence get the same samples. Each keeps only its tokens of them before the
// task sees the batch, so that labels, loss weights and token counts are those of its tokens.

#include "runtime/rank/feed/context_place.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Keeps this rank's tokens of every tensor [B, S, ..] of a
// batch with input_ids [B, S]; other tensors stay whole, and so does document_starts (a token attends to the
// document's tokens on all ranks).
// position_ids (added as 0 .. S - 1 if absent) tell where in the sequence a token is; sequence_length,
// int64 [], how long the sequences are: one more than the largest position. With one rank it returns the
// batch unchanged. Input error without input_ids or when the ranks cannot share S.
TensorMap split_sequence(TensorMap batch, const ContextPlace& place);

}  // namespace d9d
