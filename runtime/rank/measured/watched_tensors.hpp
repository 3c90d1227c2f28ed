#pragma once
// Statistics of a rank's trainable parameters and of their gradients, by groups of names
// (`trainer.logging.statistics`).

#include <map>
#include <string>

#include "runtime/metric/tensor_statistics.hpp"
#include "runtime/train/flat_parameters.hpp"

namespace d9d {

// Group and the pattern of its parameters' names (parameter_rules.hpp).
using WatchedGroups = std::map<std::string, std::string>;

// Adds this rank's share: of what several ranks hold, each counts another part, as for the norm. Gradients are reduced;
// `gradient_scale` times them is what is counted.
void watch_tensors(const FlatParameters& parameters, const WatchedGroups& groups, double gradient_scale,
                   TensorStatistics& statistics);

// Of all elements, times `scale`.
TensorCounts counts_of(const at::Tensor& tensor, double scale);

}  // namespace d9d
