// Products of the rows of experts: by ATen's grouped product (CUTLASS, offsets on the device) in bfloat16, else expert
// by expert with offsets on the host, for which it waits.
#include <ATen/TensorOperators.h>
#include <ATen/ops/_grouped_mm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "kernels/cuda/moe/experts.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"
#include "kernels/ops/backend.hpp"

namespace d9d::cuda {
namespace {

constexpr int64_t elements_of_pack = 8;  // bfloat16 in 16 bytes

// It takes contiguous rows of packs, and at least one.
bool fits_library(std::initializer_list<at::Tensor> factors) {
  for (const at::Tensor& x : factors)
    if (!x.is_cuda() || x.scalar_type() != at::kBFloat16 || x.numel() == 0 || !x.is_contiguous() ||
        x.size(-1) % elements_of_pack != 0 || !begins_at_a_pack(x))
      return false;
  return true;
}

// Whether ATen's grouped product computes it. c10::Error where the job asks for what cannot be; without rows there is
// nothing to compute.
bool is_for_library(std::initializer_list<at::Tensor> factors, bool writes_packs = true) {
  using kernels::GroupedBackend;
  const bool fits = writes_packs && fits_library(factors);
  const GroupedBackend chosen = kernels::backends().grouped_product;
  TORCH_CHECK(chosen != GroupedBackend::own,
              "products of experts: CUDA has no backend `own`; choose library, expert_by_expert or auto "
              "(node.grouped_product, D9D_GROUPED_PRODUCT)");
  const at::Tensor& rows = *factors.begin();
  TORCH_CHECK(
      chosen != GroupedBackend::library || fits || rows.numel() == 0, "products of experts of ",
      rows.scalar_type(), " rows ", rows.sizes(),
      ": the backend `library` needs bfloat16 and widths that are multiples of 8; choose expert_by_expert or "
      "auto (node.grouped_product, D9D_GROUPED_PRODUCT)");
  return fits && chosen != GroupedBackend::expert_by_expert;
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
  out.copy_(grouped_product(in, weight, offsets, transposed));
}

void dw(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in, const at::Tensor& offsets,
        double beta) {
  const c10::DeviceGuard guard(into.device());
  grouped_dw(into, grad, in, offsets, beta);
}

}  // namespace

at::Tensor grouped_product(const at::Tensor& in, const at::Tensor& weight, const at::Tensor& offsets,
                           bool transposed) {
  const at::Tensor right = transposed ? weight.transpose(1, 2) : weight;
  const at::Tensor rows_in = in.contiguous();
  const bool writes_whole_packs = right.size(2) % elements_of_pack == 0;
  if (is_for_library({rows_in, weight}, writes_whole_packs))
    return at::_grouped_mm(rows_in, right, ends_of(offsets));
  at::Tensor out = at::empty({in.size(0), right.size(2)}, in.options().requires_grad(false));
  for_experts(offsets, [&](int64_t e, int64_t first, int64_t rows) {
    if (rows > 0) out.narrow(0, first, rows).copy_(at::mm(wide(in.narrow(0, first, rows)), wide(right[e])));
  });
  return out;
}

void grouped_dw(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in,
                const at::Tensor& offsets, double beta) {
  const at::Tensor left = grad.contiguous(), right = in.contiguous();
  if (is_for_library({left, right})) {
    put(into, at::_grouped_mm(left.t(), right, ends_of(offsets)), beta);
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
