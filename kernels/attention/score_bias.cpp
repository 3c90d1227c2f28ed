#include "kernels/attention/score_bias.hpp"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>

#include <limits>

namespace d9d::kernels {
namespace {

// Where in a bias by distance the elements of a part begin: the last query's first key.
int64_t first_distance(const ScorePart& part) {
  return part.queries - part.first - part.count + part.key;
}

// Row r of x [.., R, K] moved r places to the right, and the rows added up: [.., 1, R + K - 1].
at::Tensor sum_of_diagonals(const at::Tensor& x) {
  const int64_t rows = x.size(2), width = rows + x.size(3) - 1;
  const at::Tensor flat = at::constant_pad_nd(x, {0, rows}).flatten(2, 3);
  return flat.narrow(2, 0, rows * width).unflatten(2, {rows, width}).sum(2, /*keepdim=*/true);
}

}  // namespace

at::Tensor bias_of_mask(const at::Tensor& sees, at::ScalarType dtype) {
  TORCH_CHECK(sees.scalar_type() == at::kBool, "a mask in ", sees.scalar_type(),
              ": expected booleans, true where a query sees a key");
  return at::zeros(sees.sizes(), sees.options().dtype(dtype))
      .masked_fill_(sees.logical_not(), -std::numeric_limits<double>::infinity());
}

at::Tensor bias_of_part(const ScoreBias& bias, const ScorePart& part, at::ScalarType dtype) {
  const at::Tensor values = bias.values.detach();
  if (!bias.by_distance) {
    const at::Tensor rows = values.size(2) == 1 ? values : values.narrow(2, part.first, part.count);
    return rows.narrow(3, part.key, part.keys).to(dtype);
  }
  const at::Tensor seen = values.narrow(3, first_distance(part), part.count + part.keys - 1).to(dtype);
  return seen.squeeze(2).unfold(2, part.keys, 1).flip(2);
}

void add_bias_gradient(const at::Tensor& gradient, const at::Tensor& of_scores, const ScorePart& part,
                       bool by_distance) {
  at::Tensor sum = of_scores;
  for (const int64_t dim : {0, 1}) {
    if (gradient.size(dim) == 1 && sum.size(dim) > 1) sum = sum.sum(dim, /*keepdim=*/true);
  }
  if (by_distance) {
    gradient.narrow(3, first_distance(part), part.count + part.keys - 1).add_(sum_of_diagonals(sum.flip(2)));
    return;
  }
  const bool shared = gradient.size(2) == 1;
  const at::Tensor rows = shared ? gradient : gradient.narrow(2, part.first, part.count);
  rows.narrow(3, part.key, part.keys).add_(shared ? sum.sum(2, /*keepdim=*/true) : sum);
}

}  // namespace d9d::kernels
