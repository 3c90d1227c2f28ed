#include "kernels/optimizer/optimizer.hpp"

#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

void check_flat(const at::Tensor& tensor, int64_t count, const char* what) {
  TORCH_CHECK(tensor.scalar_type() == at::kFloat && tensor.is_contiguous() && tensor.numel() == count,
              "adamw_step: ", what, " is ", tensor.sizes(), " ", tensor.scalar_type(), "; expected ", count,
              " contiguous float32 elements");
}

}  // namespace

void adamw_step(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
                const at::Tensor& exp_avg_sq, const AdamWSettings& settings) {
  const int64_t count = param.numel();
  check_flat(param, count, "param");
  check_flat(grad, count, "grad");
  check_flat(exp_avg, count, "exp_avg");
  check_flat(exp_avg_sq, count, "exp_avg_sq");
  TORCH_CHECK(settings.step >= 1, "adamw_step: step is ", settings.step, "; steps count from 1");
  run_op(&OpTable::adamw_step, param, grad, exp_avg, exp_avg_sq, settings);
}

at::Tensor sum_of_squares(const at::Tensor& tensor) {
  const bool is_float = tensor.scalar_type() == at::kFloat;
  TORCH_CHECK((is_float || tensor.scalar_type() == at::kBFloat16) && tensor.is_contiguous(),
              "sum_of_squares of ", tensor.sizes(), " ", tensor.scalar_type(),
              ": expected contiguous float32 or bfloat16");
  return run_op(&OpTable::sum_of_squares, tensor);
}

}  // namespace d9d::kernels
