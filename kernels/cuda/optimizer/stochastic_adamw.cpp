#include "kernels/cuda/optimizer/stochastic_adamw.hpp"

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

void stochastic_adamw_step(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
                           const at::Tensor& exp_avg_sq, const kernels::AdamWSettings& settings,
                           const kernels::RoundingNoise& noise) {
  const c10::DeviceGuard guard(param.device());
  check_launch(stochastic_adamw({.grad_type = type_of(grad),
                                 .state_type = type_of(exp_avg),
                                 .count = param.numel(),
                                 .param = data_of<std::uint16_t>(param),
                                 .grad = data_of(grad),
                                 .exp_avg = data_of(exp_avg),
                                 .exp_avg_sq = data_of(exp_avg_sq),
                                 .pass = kernels::stochastic_pass(settings),
                                 .noise = noise},
                                stream_of(param)),
               "stochastic_adamw_step");
}

void stochastic_copy(const at::Tensor& source, const at::Tensor& target, const kernels::RandomKey& key,
                     const kernels::BlockPlace& place) {
  const c10::DeviceGuard guard(target.device());
  check_launch(cuda::stochastic_copy({.count = source.numel(),
                                      .source = data_of<float>(source),
                                      .target = data_of<std::uint16_t>(target),
                                      .key = key,
                                      .place = place},
                                     stream_of(target)),
               "stochastic_copy");
}

}  // namespace

void add_stochastic_adamw(kernels::OpTable& table) {
  table.stochastic_adamw_step = stochastic_adamw_step;
  table.stochastic_copy = stochastic_copy;
}

}  // namespace d9d::cuda
