#include "kernels/matmul.hpp"

#include "kernels/run_op.hpp"

namespace d9d::kernels {

void matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && c.dim() == 2 && a.size(1) == b.size(0) &&
                  c.size(0) == a.size(0) && c.size(1) == b.size(1) && (beta == 0 || beta == 1),
              "matmul of ", a.sizes(), " and ", b.sizes(), " into ", c.sizes(), " with beta ", beta);
  run_op(&OpTable::matmul, c, a, b, beta);
}

}  // namespace d9d::kernels
