#include "kernels/gemm.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

namespace d9d::kernels {

void matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && c.dim() == 2 && a.size(1) == b.size(0) &&
                  c.size(0) == a.size(0) && c.size(1) == b.size(1),
              "matmul of ", a.sizes(), " and ", b.sizes(), " into ", c.sizes());
  if (c.numel() == 0) return;
  if (a.size(1) == 0) {
    if (beta == 0) c.zero_();
    return;
  }
  at::Tensor out = c;
  if (c.scalar_type() != a.scalar_type()) {
    const at::Tensor product = at::mm(a, b);
    beta == 0 ? out.copy_(product) : out.add_(product);
  } else if (beta == 0) {
    at::mm_out(out, a, b);
  } else {
    at::addmm_out(out, c, a, b, beta);
  }
}

at::Tensor as_rows(const at::Tensor& x) {
  TORCH_CHECK(x.dim() >= 1, "expected a tensor of at least one dimension");
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  return rows.stride(1) == 1 || rows.size(1) == 1 ? rows : rows.contiguous();
}

}  // namespace d9d::kernels
