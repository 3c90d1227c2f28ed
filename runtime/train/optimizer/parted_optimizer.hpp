#pragma once
// The optimizer of a stage whose step has several updates that move different parameters (job/step_phases.hpp): one
// optimizer for the parameters that are moved in the same updates, with a count of updates of its own.

#include <functional>
#include <memory>

#include "runtime/train/optimizer/optimizer.hpp"

namespace d9d {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const FlatParameters&)>;

// Calls `make` for each part of `parameters`, in an order that is the same on all ranks of the stage. Returns what it
// makes itself where each of the `updates` of a step moves all parameters. `parameters` must outlive the optimizer.
std::unique_ptr<Optimizer> make_parted_optimizer(const FlatParameters& parameters, std::size_t updates,
                                                 const MakeOptimizer& make);

}  // namespace d9d
