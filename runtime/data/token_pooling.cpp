#include "runtime/data/token_pooling.hpp"

#include <ATen/ops/zeros_like.h>

#include "runtime/base/error.hpp"

namespace d9d {

at::Tensor token_pooling_mask(const at::Tensor& attention_mask, TokenPooling pooling) {
  D9D_REQUIRE(attention_mask.dim() == 2, "an attention mask of shape [{}], expected [B, S]",
              fmt::join(attention_mask.sizes(), ", "));
  if (pooling == TokenPooling::all) return attention_mask.clone();
  at::Tensor out = at::zeros_like(attention_mask);
  if (pooling == TokenPooling::first) {
    out.select(1, 0).fill_(1);
    return out;
  }
  const at::Tensor count = attention_mask.sum(1, /*keepdim=*/true, at::kLong);
  out.scatter_(1, count.sub(1).clamp_min(0), count.gt(0).to(out.scalar_type()));
  return out;
}

}  // namespace d9d
