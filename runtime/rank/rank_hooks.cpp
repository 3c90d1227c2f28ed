#include "runtime/rank/rank_hooks.hpp"

#include <c10/core/GradMode.h>

#include "runtime/device/host_numbers.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/train/gradient/gradient_norm.hpp"

namespace d9d {

HookedGradients call_hooks(const GradientHooks& hooks, const FlatParameters& parameters, double weight,
                           NormType norm, GradientContext context) {
  const c10::AutoGradMode no_graph(false);
  for (const FlatFamily& family : parameters.families()) at::Tensor(family.grad).div_(weight);
  for (std::size_t i = 0; i < parameters.parameters().size(); ++i) {
    if (!parameters.is_moved(i, context.update)) continue;
    const StageParameter& each = parameters.parameters()[i];
    context.gradients.push_back({each.name, each.layout, each.tensor.detach(), each.tensor.grad()});
  }
  HookedGradients hooked;
  for (const auto& hook : hooks) {
    const HookVerdict verdict =
        call_user("a gradient hook", ErrorInside::passes, [&] { return hook->gradients_reduced(context); });
    hooked.skip = hooked.skip || verdict == HookVerdict::skip;
  }
  std::vector<at::Tensor> shares;
  for (const GradientBucket& bucket : parameters.buckets())
    shares.push_back(share_of_norm_later(bucket, norm));
  for (const double number : host_numbers(shares))
    hooked.norm_share = joined_shares(norm, hooked.norm_share, share_of_number(number, norm));
  return hooked;
}

}  // namespace d9d
