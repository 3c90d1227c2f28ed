#pragma once
// Several documents in one row of a batch (packed documents): attention stays within each of them.

#include <ATen/core/Tensor.h>

#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// The shared input document_starts, int64 [B, S]: where in its row the document of each token begins, as in
// 0 0 0 3 3 5. Ranks that share sequences (`shares_sequences`) hold a part of the tokens, and the starts of
// all of them. Undefined where it is absent or every row is one document. Input error for other shapes, or
// numbers that are no starts. `position_ids` [B, tokens of this rank]; their values are not read.
at::Tensor document_starts(const TensorMap& shared, const at::Tensor& position_ids, bool shares_sequences);

}  // namespace d9d
