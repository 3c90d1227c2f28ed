#pragma once
// What multi-token prediction (nn/model/multi_token_prediction.hpp) reads of a batch: the tokens behind each.

#include <cstdint>

#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// With `depths` > 0: adds to a batch with input_ids and labels, int64 [B, S], three tensors [B, S, depths],
//   next_ids [b, i, k - 1] = input_ids [b, i + k]; behind the end of the sequence its last token,
//   next_labels [b, i, k - 1] = labels [b, i + k]; ignored_label behind the end, and where position_ids (if the
//   batch has them) do not go on by k from i to i + k: there another document has begun,
//   next_token_mask [b, i, k - 1] (bool): whether token i and a token i + k of its document are there; what fills rows
//   up (token_mask, if the batch has it) is none.
// Call it before ranks share the sequences.
void add_next_tokens(TensorMap& batch, std::int64_t depths);

}  // namespace d9d
