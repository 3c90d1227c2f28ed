// Products by cuBLAS, through ATen: sums in fp32, or in fp64 for fp64.
#include <ATen/Context.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <c10/core/DeviceGuard.h>

#include "kernels/cuda/factors.hpp"
#include "kernels/cuda/ops.hpp"

namespace d9d::cuda {
namespace {

void matmul(const at::Tensor& c, const at::Tensor& left, const at::Tensor& right, double beta) {
  const c10::DeviceGuard guard(c.device());
  at::Tensor out = c;
  const auto [a, b] = of_one_type(left, right);  // of which cuBLAS gives float32, too
  if (a.scalar_type() == out.scalar_type()) {
    beta == 0 ? at::mm_out(out, a, b) : at::addmm_out(out, out, a, b, beta);
  } else if (out.scalar_type() == at::kFloat) {
    beta == 0 ? at::mm_out(out, a, b, at::kFloat) : at::addmm_out(out, out, a, b, at::kFloat, beta);
  } else {
    // Rounded once, after the sum.
    const at::Tensor sum = at::mm(a, b);
    beta == 0 ? out.copy_(sum) : out.copy_(sum.add_(out));
  }
}

}  // namespace

void add_matmul(kernels::OpTable& table) {
  // Parts of a sum are not rounded to bfloat16 on the way, and float32 factors not to TF32.
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  table.matmul = matmul;
}

}  // namespace d9d::cuda
