#pragma once
// Calls the gradient hooks of a rank (train/gradient_hook.hpp). Needs torch.

#include <memory>
#include <vector>

#include "runtime/rank/rank_worker.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"
#include "runtime/train/gradient/norm_type.hpp"

namespace d9d {

using GradientHooks = std::vector<std::shared_ptr<GradientHook>>;

// `parameters` have the step's reduced sums; afterwards they have what the hooks left of the means. `context`
// comes without gradients. The norm's share is that of all buckets, taken after the hooks.
HookedGradients call_hooks(const GradientHooks& hooks, const FlatParameters& parameters, double weight,
                           NormType norm, GradientContext context);

}  // namespace d9d
