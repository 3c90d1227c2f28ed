#include "runtime/rank/rank_hooks.hpp"

#include <c10/core/GradMode.h>

#include "runtime/task/user_call.hpp"
#include "runtime/train/gradient_norm.hpp"

namespace d9d {

HookedGradients call_hooks(const GradientHooks& hooks, const FlatParameters& parameters, double weight,
                           NormType norm, GradientContext context) {
  const c10::AutoGradMode no_graph(false);
  for (const FlatFamily& family : parameters.families()) at::Tensor(family.grad).div_(weight);
  for (std::size_t i = 0; i < parameters.parameters().size(); ++i) {
    if (parameters.bucket_of(i) < 0) continue;
    const StageParameter& each = parameters.parameters()[i];
    context.gradients.push_back({each.name, each.layout, each.tensor.detach(), each.tensor.grad()});
  }
  HookedGradients hooked;
  for (const auto& hook : hooks) {
    const HookVerdict verdict =
        call_user("a gradient hook", ErrorInside::is_named, [&] { return hook->gradients_reduced(context); });
    hooked.skip = hooked.skip || verdict == HookVerdict::skip;
  }
  for (const GradientBucket& bucket : parameters.buckets())
    hooked.norm_share = joined_shares(norm, hooked.norm_share, share_of_norm(bucket, norm));
  return hooked;
}

}  // namespace d9d
