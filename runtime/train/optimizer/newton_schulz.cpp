#include "runtime/train/optimizer/newton_schulz.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/norm.h>

#include <algorithm>

namespace d9d {

at::Tensor orthogonalized(const at::Tensor& matrix, int steps) {
  constexpr double a = 3.4445;
  constexpr double b = -4.7750;
  constexpr double c = 2.0315;
  constexpr double smallest_norm = 1e-7;
  const bool is_tall = matrix.size(0) > matrix.size(1);
  const double norm = std::max(at::norm(matrix).item<double>(), smallest_norm);
  at::Tensor x = (is_tall ? matrix.t() : matrix).div(norm);
  for (int step = 0; step < steps; ++step) {
    const at::Tensor gram = at::mm(x, x.t());
    x = at::addmm(x, at::addmm(gram, gram, gram, b, c), x, a);
  }
  return (is_tall ? x.t() : x).contiguous();
}

}  // namespace d9d
