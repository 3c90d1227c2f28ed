#pragma once
// Calls the gradient hooks of a rank (train/gradient/gradient_hook.hpp). Needs torch.

#include <memory>
#include <vector>

#include "runtime/rank/rank_worker.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"
#include "runtime/train/gradient/norm_type.hpp"

namespace d9d {

using GradientHooks = std::vector<std::shared_ptr<GradientHook>>;

// Divides the reduced sums in the gradients of `parameters` by `weight`, then lets the hooks read
// and change the means. `context` comes without gradients. Returns the share of the norm of all
// buckets, computed after the hooks.
HookedGradients call_hooks(const GradientHooks& hooks, const FlatParameters& parameters, double weight,
                           NormType norm, GradientContext context);

}  // namespace d9d
