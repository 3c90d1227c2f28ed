#include "kernels/cuda/moe/permute.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/moe/experts.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {

using kernels::as_rows;

kernels::ExpertOrder order_of(const at::Tensor& experts, int64_t num_experts) {
  TORCH_CHECK(num_experts <= order_experts_max, "expert_order of ", num_experts,
              " experts: the CUDA kernels of d9d take up to ", order_experts_max);
  const at::Tensor choices = experts.contiguous();
  const int64_t count = choices.numel();
  kernels::ExpertOrder order{at::empty({num_experts + 1}, choices.options()),
                             at::empty(choices.sizes(), choices.options())};
  const at::Tensor counts = at::empty({num_experts, order_chunks(count)}, choices.options().dtype(at::kInt));
  check_launch(expert_order({.count = count,
                             .experts = static_cast<int>(num_experts),
                             .choices = choices.const_data_ptr<int64_t>(),
                             .counts = data_of<int>(counts),
                             .offsets = data_of<int64_t>(order.offsets),
                             .map = data_of<int64_t>(order.map)},
                            stream_of(choices)),
               "expert_order");
  return order;
}

at::Tensor combined(const at::Tensor& rows, const at::Tensor& map, const at::Tensor& scale, bool scale_by_row,
                    const at::Tensor& also) {
  const at::Tensor from = as_rows(rows), factors = maybe_contiguous(scale), more = maybe_rows(also);
  at::Tensor y = at::empty({map.size(0), from.size(1)}, rows.options().requires_grad(false));
  check_launch(combine_rows({.type = type_of(rows),
                             .tokens = map.size(0),
                             .top_k = map.size(1),
                             .width = from.size(1),
                             .map = map.const_data_ptr<int64_t>(),
                             .scale = data_of<float>(factors),
                             .scale_by_row = scale_by_row,
                             .in = rows_of(from),
                             .also = rows_of(more),
                             .out = data_of(y)},
                            stream_of(rows)),
               "combine_rows");
  return y;
}

namespace {

kernels::ExpertOrder guarded_order(const at::Tensor& experts, int64_t num_experts) {
  const c10::DeviceGuard guard(experts.device());
  return order_of(experts, num_experts);
}

at::Tensor owners_of(const at::Tensor& experts, int64_t per_owner) {
  const c10::DeviceGuard guard(experts.device());
  const at::Tensor choices = experts.contiguous();
  at::Tensor owners = at::empty(choices.sizes(), choices.options());
  check_launch(choice_owners({.tokens = choices.size(0),
                              .top_k = choices.size(1),
                              .per_owner = static_cast<unsigned>(per_owner),
                              .experts = choices.const_data_ptr<int64_t>(),
                              .owners = data_of<int64_t>(owners)},
                             stream_of(choices)),
               "choice_owners");
  return owners;
}

at::Tensor spread(const at::Tensor& x, const at::Tensor& map, const at::Tensor& scale, int64_t num_rows) {
  const c10::DeviceGuard guard(x.device());
  const at::Tensor from = as_rows(x), factors = maybe_contiguous(scale);
  at::Tensor rows = at::empty({num_rows, from.size(1)}, x.options().requires_grad(false));
  check_launch(spread_rows({.type = type_of(x),
                            .tokens = map.size(0),
                            .top_k = map.size(1),
                            .width = from.size(1),
                            .map = map.const_data_ptr<int64_t>(),
                            .scale = data_of<float>(factors),
                            .in = rows_of(from),
                            .out = data_of(rows)},
                           stream_of(x)),
               "spread_rows");
  return rows;
}

at::Tensor combine(const at::Tensor& rows, const at::Tensor& map, const at::Tensor& scale) {
  const c10::DeviceGuard guard(rows.device());
  return combined(rows, map, scale, /*scale_by_row=*/false);
}

at::Tensor dots_of(const at::Tensor& y, const at::Tensor& rows, const at::Tensor& map) {
  const c10::DeviceGuard guard(y.device());
  const at::Tensor left = as_rows(y), right = as_rows(rows);
  at::Tensor dots = at::empty(map.sizes(), y.options().requires_grad(false).dtype(at::kFloat));
  check_launch(row_dots({.type = type_of(y),
                         .tokens = map.size(0),
                         .top_k = map.size(1),
                         .width = right.size(1),
                         .map = map.const_data_ptr<int64_t>(),
                         .y = rows_of(left),
                         .rows = rows_of(right),
                         .dots = data_of<float>(dots)},
                        stream_of(y)),
               "row_dots");
  return dots;
}

}  // namespace

void add_permute(kernels::OpTable& table) {
  table.expert_order = guarded_order;
  table.choice_owners = owners_of;
  table.spread_rows = spread;
  table.combine_rows = combine;
  table.row_dots = dots_of;
}

}  // namespace d9d::cuda
