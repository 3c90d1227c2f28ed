#include "kernels/cuda/moe/router.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

kernels::Routing moe_router(const at::Tensor& logits, const at::Tensor& bias,
                            const kernels::RouterRule& rule) {
  const c10::DeviceGuard guard(logits.device());
  const at::Tensor rows = logits.contiguous();
  const int64_t tokens = rows.size(0), experts = rows.size(1);
  TORCH_CHECK(experts <= router_experts_max, "moe_router of ", experts,
              " experts: the CUDA kernels of d9d take up to ", router_experts_max);
  const auto options = rows.options().requires_grad(false).dtype(at::kFloat);
  kernels::Routing result{at::empty({tokens, experts}, options), at::empty({tokens, rule.top_k}, options),
                          at::empty({tokens, rule.top_k}, options.dtype(at::kLong))};
  check_launch(router({.type = type_of(rows),
                       .tokens = tokens,
                       .experts = static_cast<int>(experts),
                       .rule = rule,
                       .logits = rows.const_data_ptr(),
                       .bias = data_of<float>(bias),
                       .scores = data_of<float>(result.scores),
                       .probs = data_of<float>(result.probs),
                       .chosen = data_of<int64_t>(result.experts)},
                      stream_of(rows)),
               "moe_router");
  return result;
}

at::Tensor moe_router_backward(const at::Tensor& dprobs, const at::Tensor& scores, const at::Tensor& experts,
                               const kernels::RouterRule& rule) {
  const c10::DeviceGuard guard(scores.device());
  const at::Tensor grad = dprobs.contiguous();
  at::Tensor dlogits = at::empty_like(scores);
  check_launch(router_backward({.tokens = scores.size(0),
                                .experts = static_cast<int>(scores.size(1)),
                                .rule = rule,
                                .d_probs = grad.const_data_ptr<float>(),
                                .scores = scores.const_data_ptr<float>(),
                                .chosen = experts.const_data_ptr<int64_t>(),
                                .d_logits = data_of<float>(dlogits)},
                               stream_of(scores)),
               "moe_router_backward");
  return dlogits;
}

}  // namespace

void add_router(kernels::OpTable& table) {
  table.moe_router = moe_router;
  table.moe_router_backward = moe_router_backward;
}

}  // namespace d9d::cuda
