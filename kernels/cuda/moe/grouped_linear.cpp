// Products of the rows of experts: by ATen's grouped product (CUTLASS, offsets on the device) in bfloat16, else expert
// by expert with offsets on the host, for which it waits once.
#include <ATen/TensorOperators.h>
#include <ATen/ops/_grouped_mm.h>
#include <ATen/ops/empty.h>

#include "kernels/cuda/capability.hpp"
#include "kernels/cuda/moe/expert_gradients.hpp"
#include "kernels/cuda/moe/experts.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"
#include "kernels/memory/host_values.hpp"
#include "kernels/ops/backend.hpp"
#include "kernels/run_op.hpp"

namespace d9d::cuda {
namespace {

constexpr int64_t elements_of_pack = 8;  // bfloat16 in 16 bytes

// It takes contiguous rows of packs, and at least one.
bool fits_library(std::initializer_list<at::Tensor> factors) {
  for (const at::Tensor& x : factors)
    if (x.scalar_type() != at::kBFloat16 || x.numel() == 0 || !x.is_contiguous() ||
        x.size(-1) % elements_of_pack != 0 || !begins_at_a_pack(x))
      return false;
  return true;
}

// Whether ATen's grouped product is one kernel on the tensor's GPU; elsewhere the host waits for the offsets inside of
// it. ATen: aten/src/ATen/native/cuda/GroupedBlas.cpp, _scaled_mm_allowed_device with sm90_only and sm100_only.
bool has_grouped_product(const at::Tensor& tensor) {
  const int major = compute_capability(tensor) / 10;
  return major == 9 || major == 10;
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
  return fits && (chosen == GroupedBackend::library ||
                  (chosen == GroupedBackend::auto_ && has_grouped_product(rows)));
}

// The end of each expert's rows.
at::Tensor ends_of(const at::Tensor& offsets) {
  return offsets.narrow(0, 1, offsets.size(0) - 1).to(at::kInt);
}

// The host waits for them once: it remembers them for all products by the same offsets.
at::Tensor offsets_on_host(const at::Tensor& offsets) {
  at::Tensor here = kernels::host_values(offsets);
  if (here.defined()) return here;
  here = offsets.to(at::kCPU);
  if (offsets.storage_offset() == 0) kernels::keep_host_values(offsets, here);
  return here;
}

// f(expert, first row, rows)
template <class F>
void for_experts(const at::Tensor& offsets, F&& f) {
  const at::Tensor here = offsets_on_host(offsets);
  const auto* const offset = here.const_data_ptr<int64_t>();
  for (int64_t e = 0; e + 1 < here.size(0); ++e) f(e, offset[e], offset[e + 1] - offset[e]);
}

// c = a b + beta c
void multiply(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta) {
  kernels::run_op(&kernels::OpTable::matmul, c, a, b, beta);
}

// weight[e], or weight[e]^T, for all experts.
at::Tensor right_factor(const at::Tensor& weight, bool transposed) {
  return transposed ? weight.transpose(1, 2) : weight;
}

// Undefined where ATen's grouped product does not compute it.
at::Tensor product_by_library(const at::Tensor& in, const at::Tensor& weight, const at::Tensor& offsets,
                              bool transposed) {
  const at::Tensor rows = in.contiguous(), right = right_factor(weight, transposed);
  const bool writes_whole_packs = right.size(2) % elements_of_pack == 0;
  if (!is_for_library({rows, weight}, writes_whole_packs)) return {};
  return at::_grouped_mm(rows, right, ends_of(offsets));
}

void product_by_expert(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight,
                       const at::Tensor& offsets, bool transposed) {
  const at::Tensor right = right_factor(weight, transposed);
  for_experts(offsets, [&](int64_t e, int64_t first, int64_t rows) {
    if (rows > 0) multiply(out.narrow(0, first, rows), in.narrow(0, first, rows), right[e], 0);
  });
}

void product(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight, const at::Tensor& offsets,
             bool transposed) {
  const c10::DeviceGuard guard(out.device());
  const at::Tensor all = product_by_library(in, weight, offsets, transposed);
  all.defined() ? static_cast<void>(out.copy_(all)) : product_by_expert(out, in, weight, offsets, transposed);
}

void dw(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in, const at::Tensor& offsets,
        double beta) {
  const c10::DeviceGuard guard(into.device());
  grouped_dw(into, grad, in, offsets, beta);
}

}  // namespace

at::Tensor grouped_product(const at::Tensor& in, const at::Tensor& weight, const at::Tensor& offsets,
                           bool transposed) {
  at::Tensor out = product_by_library(in, weight, offsets, transposed);
  if (out.defined()) return out;
  out = at::empty({in.size(0), weight.size(transposed ? 1 : 2)}, in.options().requires_grad(false));
  product_by_expert(out, in, weight, offsets, transposed);
  return out;
}

void grouped_dw(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in,
                const at::Tensor& offsets, double beta) {
  const at::Tensor left = grad.contiguous(), right = in.contiguous();
  if (is_for_library({left, right}, into.is_contiguous())) {
    const at::Tensor sums = at::_grouped_mm(left.t(), right, ends_of(offsets));
    check_launch(expert_gradients({.type = type_of(into),
                                   .experts = into.size(0),
                                   .elements = into.stride(0),
                                   .offsets = offsets.const_data_ptr<int64_t>(),
                                   .sums = sums.const_data_ptr(),
                                   .into = data_of(into),
                                   .adds = beta != 0},
                                  stream_of(into)),
                 "grouped_dw");
    return;
  }
  for_experts(offsets, [&](int64_t e, int64_t first, int64_t rows) {
    if (rows > 0) {
      multiply(into[e], left.narrow(0, first, rows).t(), right.narrow(0, first, rows), beta);
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
