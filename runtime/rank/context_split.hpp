#pragma once
// Ranks that share a sequence get the same samples; each keeps its tokens of them before the task sees the
// batch, so that labels, loss weights and token counts are its own.

#include "runtime/rank/context_place.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// This rank's tokens of every tensor [B, S, ..] of a batch with input_ids [B, S]; others stay whole.
// position_ids, 0 .. S - 1 where absent, say where in the sequence they are. One rank: the batch as it is.
// Input error when there are no input_ids or S cannot be dealt out.
TensorMap split_sequence(TensorMap batch, const ContextPlace& place);

}  // namespace d9d
