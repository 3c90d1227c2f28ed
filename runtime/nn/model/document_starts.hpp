#pragma once
// Several documents in one row of a batch (packed documents): attention stays within each of them.

#include <ATen/core/Tensor.h>

#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Returns the shared input document_starts, int64 [B, S]: the position in its row at which the document
// of each token begins, for example 0 0 0 3 3 5. Undefined when it is absent or every row is one
// document. Ranks that share sequences (`shares_sequences`) hold a part of the tokens, but the starts
// of all. Input error for other shapes, or numbers that are no starts. `position_ids` [B, tokens of
// this rank]: only the shape is used.
at::Tensor document_starts(const TensorMap& shared, const at::Tensor& position_ids, bool shares_sequences);

// The same where what fills rows up is a document of its own. `is_token` bool [B, S], whole rows on the host: false for
// what fills up; `starts` of these rows, or undefined.
at::Tensor starts_apart(const at::Tensor& starts, const at::Tensor& is_token);

// starts_apart() by the shared input token_mask, for tokens that see those after them. `starts`: document_starts().
// Ranks that share sequences have the mask of their own tokens alone: the feed has set apart what fills their rows up
// (runtime/rank/feed/source_feed.hpp).
at::Tensor starts_without_filling(const at::Tensor& starts, const TensorMap& shared,
                                  const at::Tensor& position_ids, bool shares_sequences);

}  // namespace d9d
