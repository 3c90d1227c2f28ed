#include "runtime/data/token_pooling.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/base/error.hpp"

namespace d9d {

at::Tensor token_pooling_mask(const at::Tensor& mask, TokenPooling which, const at::Tensor& document_starts) {
  D9D_REQUIRE(mask.dim() == 2, "token_pooling_mask: a mask of {} dimensions, expected [batch, sequence]",
              mask.dim());
  D9D_REQUIRE(!document_starts.defined() || document_starts.sizes() == mask.sizes(),
              "token_pooling_mask: document_starts has {} elements and the mask {}", document_starts.numel(),
              mask.numel());
  const at::Tensor tokens = mask.to(at::kBool);
  const std::int64_t pairs = mask.size(1) - 1;
  if (which == TokenPooling::all || pairs < 0) return tokens.to(mask.scalar_type());
  // Of each two neighbours: are both tokens of one document?
  at::Tensor together = tokens.narrow(1, 0, pairs).logical_and(tokens.narrow(1, 1, pairs));
  if (document_starts.defined())
    together =
        together.logical_and(document_starts.narrow(1, 0, pairs).eq(document_starts.narrow(1, 1, pairs)));
  at::Tensor has_neighbour = at::zeros_like(tokens);
  has_neighbour.narrow(1, which == TokenPooling::first ? 1 : 0, pairs).copy_(together);
  return tokens.logical_and(has_neighbour.logical_not()).to(mask.scalar_type());
}

}  // namespace d9d
