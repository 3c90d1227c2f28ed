#include "kernels/optimizer/stochastic_adamw.hpp"

#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

bool is_flat(const at::Tensor& tensor, int64_t count) {
  return tensor.is_contiguous() && tensor.numel() == count &&
         (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kBFloat16);
}

}  // namespace

void stochastic_adamw_step(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
                           const at::Tensor& exp_avg_sq, const AdamWSettings& settings,
                           const RoundingNoise& noise) {
  const int64_t count = param.numel();
  TORCH_CHECK(param.scalar_type() == at::kBFloat16 && is_flat(param, count) && is_flat(grad, count) &&
                  is_flat(exp_avg, count) && is_flat(exp_avg_sq, count) &&
                  exp_avg.scalar_type() == exp_avg_sq.scalar_type(),
              "stochastic_adamw_step of ", param.scalar_type(), " ", param.sizes(), ", gradient ",
              grad.scalar_type(), " ", grad.sizes(), ", moments ", exp_avg.scalar_type(), " ",
              exp_avg.sizes(), " and ", exp_avg_sq.scalar_type(), " ", exp_avg_sq.sizes(),
              ": expected contiguous buffers of one length, parameters in bfloat16, the others in float32 or "
              "bfloat16, both moments alike");
  TORCH_CHECK(settings.step >= 1, "stochastic_adamw_step: step is ", settings.step, "; steps count from 1");
  run_op(&OpTable::stochastic_adamw_step, param, grad, exp_avg, exp_avg_sq, settings, noise);
}

}  // namespace d9d::kernels
