// Products of the rows of experts: by ATen's grouped product (CUTLASS, offsets on the device) in bfloat16, else expert
// by expert with offsets on the host, for which it waits.
#include <ATen/TensorOperators.h>
#include <ATen/ops/_grouped_mm.h>
#include <ATen/ops/mm.h>

#include "kernels/cuda/experts.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

// It takes rows of 16 bytes and more, and at least one.
bool is_for_library(std::initializer_list<at::Tensor> factors) {
  for (const at::Tensor& x : factors)
    if (!x.is_cuda() || x.scalar_type() != at::kBFloat16 || x.numel() == 0 || x.size(-1) % 8 != 0)
      return false;
  return true;
}

// The end of each expert's rows.
at::Tensor ends_of(const at::Tensor& offsets) {
  return offsets.narrow(0, 1, offsets.size(0) - 1).to(at::kInt);
}

// f(expert, first row, rows)
template <class F>
void for_experts(const at::Tensor& offsets, F&& f) {
  const at::Tensor here = offsets.to(at::kCPU).contiguous();
  const auto* const offset = here.const_data_ptr<int64_t>();
  for (int64_t e = 0; e + 1 < here.size(0); ++e) f(e, offset[e], offset[e + 1] - offset[e]);
}

// into = sum + beta into, for sums of its own type or another one.
void put(const at::Tensor& into, const at::Tensor& sum, double beta) {
  beta == 0 ? into.copy_(sum) : into.add_(sum);
}

// In the type of sums, where it is another one.
at::Tensor wide(const at::Tensor& x) {
  return x.to(kernels::sum_dtype(x.scalar_type()));
}

void product(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight, const at::Tensor& offsets,
             bool transposed) {
  const c10::DeviceGuard guard(out.device());
  grouped_product(out, in, weight, offsets, transposed);
}

void dw(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in, const at::Tensor& offsets,
        double beta) {
  const c10::DeviceGuard guard(into.device());
  grouped_dw(into, grad, in, offsets, beta);
}

}  // namespace

void grouped_product(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight,
                     const at::Tensor& offsets, bool transposed) {
  const at::Tensor right = transposed ? weight.transpose(1, 2) : weight;
  if (is_for_library({in, weight, out})) {
    out.copy_(at::_grouped_mm(in.contiguous(), right, ends_of(offsets)));
    return;
  }
  for_experts(offsets, [&](int64_t e, int64_t first, int64_t rows) {
    if (rows > 0) out.narrow(0, first, rows).copy_(at::mm(wide(in.narrow(0, first, rows)), wide(right[e])));
  });
}

void grouped_dw(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in,
                const at::Tensor& offsets, double beta) {
  if (is_for_library({grad, in})) {
    put(into, at::_grouped_mm(grad.contiguous().t(), in.contiguous(), ends_of(offsets)), beta);
    return;
  }
  for_experts(offsets, [&](int64_t e, int64_t first, int64_t rows) {
    if (rows > 0) {
      put(into[e], at::mm(wide(grad.narrow(0, first, rows)).t(), wide(in.narrow(0, first, rows))), beta);
    } else if (beta == 0) {
      into[e].zero_();
    }
  });
}

void add_grouped_linear(kernels::OpTable& table) {
  table.grouped_product = product;
  table.grouped_dw = dw;
}

}  // namespace d9d::cuda
