// All experts in one op: rows gathered by token, grouped products, and sums over the choices of a token.
#include "kernels/cuda/moe/experts.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "kernels/cuda/embedding.hpp"
#include "kernels/cuda/moe/permute.hpp"
#include "kernels/cuda/moe/weighted_silu.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"
#include "kernels/memory/chosen_rows.hpp"

namespace d9d::cuda {
namespace {

using kernels::as_rows;
using kernels::ExpertFactor;
using kernels::ExpertRowGradients;
using kernels::ExpertRows;

ExpertRows expert_rows(const at::Tensor& experts, const at::Tensor& probs, int64_t num_experts) {
  const c10::DeviceGuard guard(experts.device());
  const kernels::ExpertOrder order = order_of(experts, num_experts);
  // Rows after the last offset, one for each choice of no expert that the host cannot count without waiting, stay -1.
  // Nobody reads them but a gather, which gives zeros.
  const int64_t count = kernels::count_rows(experts, num_experts);
  ExpertRows rows{order.offsets, order.map, at::empty({count}, order.map.options()).fill_(-1),
                  at::zeros({count}, probs.options())};
  const at::Tensor weights = probs.contiguous();
  check_launch(rows_of_choices({.tokens = experts.size(0),
                                .top_k = experts.size(1),
                                .map = order.map.const_data_ptr<int64_t>(),
                                .probs = weights.const_data_ptr<float>(),
                                .token = data_of<int64_t>(rows.token),
                                .scale = data_of<float>(rows.scale)},
                               stream_of(experts)),
               "expert_rows");
  return rows;
}

// The rows of the experts from those of the tokens.
at::Tensor gathered(const at::Tensor& x, const ExpertRows& rows) {
  const at::Tensor from = as_rows(x);
  at::Tensor all = at::empty({rows.token.size(0), from.size(1)}, x.options().requires_grad(false));
  check_launch(gather({.type = type_of(x),
                       .count = all.size(0),
                       .width = all.size(1),
                       .rows = rows.token.const_data_ptr<int64_t>(),
                       .table = rows_of(from),
                       .to = data_of(all)},
                      stream_of(x)),
               "experts");
  return all;
}

at::Tensor rows_of_factor(const ExpertFactor& factor, const ExpertRows& rows) {
  if (!factor.by_token) return factor.matrix;
  if (factor.gathered == nullptr) return gathered(factor.matrix, rows);
  if (!factor.gathered->defined()) *factor.gathered = gathered(factor.matrix, rows);
  return *factor.gathered;
}

at::Tensor expert_project(const ExpertFactor& x, const at::Tensor& weight, const ExpertRows& rows) {
  const c10::DeviceGuard guard(weight.device());
  return grouped_product(rows_of_factor(x, rows), weight, rows.offsets, /*transposed=*/true);
}

at::Tensor expert_combine(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down,
                          const ExpertRows& rows, int64_t) {
  const c10::DeviceGuard guard(gate.device());
  static const auto silu_mul = [] {
    kernels::OpTable table;
    add_activation(table);
    return table.silu_mul.function();
  }();
  const at::Tensor hidden = silu_mul(gate, up);
  const at::Tensor y = grouped_product(hidden, down, rows.offsets, /*transposed=*/true);
  return combined(y, rows.map, rows.scale, /*scale_by_row=*/true);
}

ExpertRowGradients expert_row_gradients(const ExpertFactor& dy, const at::Tensor& gate, const at::Tensor& up,
                                        const at::Tensor& down, const ExpertRows& rows) {
  const c10::DeviceGuard guard(gate.device());
  ExpertRowGradients result{at::empty_like(gate), at::empty_like(gate), at::empty_like(gate),
                            at::empty_like(rows.scale)};
  const at::Tensor dhidden =
      grouped_product(rows_of_factor(dy, rows), down, rows.offsets, /*transposed=*/false);
  check_launch(weighted_silu_backward({.type = type_of(gate),
                                       .rows = gate.size(0),
                                       .width = gate.size(1),
                                       .scale = rows.scale.const_data_ptr<float>(),
                                       .grad = dhidden.const_data_ptr(),
                                       .gate = gate.const_data_ptr(),
                                       .up = up.const_data_ptr(),
                                       .d_gate = data_of(result.gate),
                                       .d_up = data_of(result.up),
                                       .weighted = data_of(result.hidden),
                                       .d_scale = data_of<float>(result.scale)},
                                      stream_of(gate)),
               "expert_row_gradients");
  return result;
}

at::Tensor expert_dx(const ExpertRowGradients& grads, const at::Tensor& gate, const at::Tensor& up,
                     const ExpertRows& rows, int64_t) {
  const c10::DeviceGuard guard(gate.device());
  const at::Tensor of_gate = grouped_product(grads.gate, gate, rows.offsets, /*transposed=*/false);
  const at::Tensor of_up = grouped_product(grads.up, up, rows.offsets, /*transposed=*/false);
  return combined(of_gate, rows.map, {}, /*scale_by_row=*/false, of_up);
}

at::Tensor expert_dprobs(const at::Tensor& dscale, const ExpertRows& rows) {
  const c10::DeviceGuard guard(dscale.device());
  at::Tensor dprobs = at::empty(rows.map.sizes(), dscale.options());
  check_launch(gather({.type = ElementType::float32,
                       .count = rows.map.numel(),
                       .width = 1,
                       .rows = rows.map.const_data_ptr<int64_t>(),
                       .table = {dscale.const_data_ptr(), 1},
                       .to = data_of(dprobs)},
                      stream_of(dscale)),
               "expert_dprobs");
  return dprobs;
}

void expert_dw(const at::Tensor& into, const ExpertFactor& left, const ExpertFactor& right,
               const ExpertRows& rows, double beta) {
  const c10::DeviceGuard guard(into.device());
  grouped_dw(into, rows_of_factor(left, rows), rows_of_factor(right, rows), rows.offsets, beta);
}

}  // namespace

void add_experts(kernels::OpTable& table) {
  table.expert_rows = expert_rows;
  table.expert_project = expert_project;
  table.expert_combine = expert_combine;
  table.expert_row_gradients = expert_row_gradients;
  table.expert_dx = expert_dx;
  table.expert_dprobs = expert_dprobs;
  table.expert_dw = expert_dw;
}

}  // namespace d9d::cuda
