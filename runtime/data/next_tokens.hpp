#pragma once
// Prepares a batch for multi-token prediction (nn/model/multi_token_prediction.hpp), which reads
// the tokens after each position.

#include <cstdint>

#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Adds four tensors to a batch that has input_ids and labels, int64 [B, S]; nothing with depths = 0. Three are [B, S,
// depths] and hold for position i and k = 1..depths:
//   next_ids [b, i, k - 1]         input_ids [b, i + k]; after the end of the sequence its last token
//   next_labels [b, i, k - 1]      labels [b, i + k]; ignored_label after the end, and where another
//                                  document has begun: position_ids, if there, do not grow by k
//   next_token_mask [b, i, k - 1]  bool: i and i + k are tokens of one document; false for padding
//                                  (token_mask, if the batch has it)
// The fourth is whole_labels, int64 [2]: how many labels of the whole batch count, and S. A rank's part of a sequence
// may have no label and yet predict further tokens, so its share of the loss cannot follow its own labels.
// Call it before the sequences are split over ranks.
void add_next_tokens(TensorMap& batch, std::int64_t depths);

}  // namespace d9d
