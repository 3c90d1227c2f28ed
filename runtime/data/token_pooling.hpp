#pragma once
// Which tokens of a sequence stand for the whole of it (DATA-07).

#include <ATen/core/Tensor.h>

namespace d9d {

enum class TokenPooling {
  first,  // column 0
  last,   // the last attended token; padding must be on the right
  all,    // every attended token
};

// attention_mask [B, S], integer, 1 where there is a token. Returns the mask of pooled tokens, of the same
// shape and dtype; a row without tokens pools none with `last`.
at::Tensor token_pooling_mask(const at::Tensor& attention_mask, TokenPooling pooling);

}  // namespace d9d
