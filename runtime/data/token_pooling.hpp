#pragma once
// Which tokens of a text make its vector, for tasks that pool hidden states (DATA-07).

#include <ATen/core/Tensor.h>

namespace d9d {

enum class TokenPooling { first, last, all };

// Returns 1 at the chosen tokens of each row and 0 elsewhere, in the dtype of `mask`: bool or integers [B, S],
// not 0 where a position holds a token. Padding may be on either side; in a row of padding nothing is
// chosen. With `document_starts`, int64 [B, S], of packed rows: the first or last token of each document.
at::Tensor token_pooling_mask(const at::Tensor& mask, TokenPooling which,
                              const at::Tensor& document_starts = {});

}  // namespace d9d
