#include "kernels/cuda/optimizer/optimizer.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

float* aligned(const at::Tensor& flat, const char* name) {
  auto* const data = flat.data_ptr<float>();
  TORCH_CHECK(reinterpret_cast<std::uintptr_t>(data) % 16 == 0, "adamw_step: ", name,
              " does not begin at a multiple of 16 bytes");
  return data;
}

void adamw_step(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
                const at::Tensor& exp_avg_sq, const kernels::AdamWSettings& settings) {
  const c10::DeviceGuard guard(param.device());
  check_launch(adamw({.count = param.numel(),
                      .param = aligned(param, "param"),
                      .grad = aligned(grad, "grad"),
                      .exp_avg = aligned(exp_avg, "exp_avg"),
                      .exp_avg_sq = aligned(exp_avg_sq, "exp_avg_sq"),
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
