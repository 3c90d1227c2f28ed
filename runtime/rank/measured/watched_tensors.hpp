#pragma once
// Statistics of a rank's trainable parameters and of their gradients, by groups of names
// (`trainer.logging.statistics`).

#include <map>
#include <string>

#include "runtime/metric/tensor_statistics.hpp"
#include "runtime/train/flat_parameters.hpp"

namespace d9d {

// The name of `trainer.logging.statistics` among the metrics. Its values are called `statistics/...`.
inline constexpr const char* statistics_name = "statistics";

// The pattern of the parameters' names (parameter_rules.hpp) of each group.
using WatchedGroups = std::map<std::string, std::string>;

// Adds this rank's share to the statistics: of parameters that several ranks hold, each rank counts another
// part, as for the norm. The gradients must be reduced; they are counted times `gradient_scale`.
void watch_tensors(const FlatParameters& parameters, const WatchedGroups& groups, double gradient_scale,
                   TensorStatistics& statistics);

// Counts all elements of the tensor, each times `scale`.
TensorCounts counts_of(const at::Tensor& tensor, double scale);

}  // namespace d9d
