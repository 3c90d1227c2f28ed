#include "kernels/cuda/optimizer/optimizer.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

void adamw_step(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
                const at::Tensor& exp_avg_sq, const kernels::AdamWSettings& settings) {
  const c10::DeviceGuard guard(param.device());
  check_launch(adamw({.count = param.numel(),
                      .param = param.data_ptr<float>(),
                      .grad = grad.data_ptr<float>(),
                      .exp_avg = exp_avg.data_ptr<float>(),
                      .exp_avg_sq = exp_avg_sq.data_ptr<float>(),
                      .pass = kernels::adamw_pass(settings)},
                     stream_of(param)),
               "adamw_step");
}

at::Tensor sum_of_squares_op(const at::Tensor& tensor) {
  const c10::DeviceGuard guard(tensor.device());
  const auto options = tensor.options().requires_grad(false).dtype(at::kDouble);
  const at::Tensor partial = at::empty({sum_of_squares_partials(tensor.numel())}, options);
  const at::Tensor total = at::empty({1}, options);
  check_launch(sum_of_squares({.type = type_of(tensor),
                               .count = tensor.numel(),
                               .x = tensor.const_data_ptr(),
                               .partial = partial.data_ptr<double>(),
                               .total = total.data_ptr<double>()},
                              stream_of(tensor)),
               "sum_of_squares");
  return total;
}

}  // namespace

void add_optimizer(kernels::OpTable& table) {
  table.adamw_step = adamw_step;
  table.sum_of_squares = sum_of_squares_op;
}

}  // namespace d9d::cuda
