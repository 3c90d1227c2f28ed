#pragma once
// Finds the best checkpoint of a run by its evaluation: by the loss, or by the metric
// in evaluation.metric. No torch.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Returns the loss of the evaluation right before the checkpoint was written, from
// `extra` of its manifest.
std::optional<double> evaluation_loss(const std::string& extra);

// The value that evaluations are compared by: the metric if the checkpoint has one, else the loss.
struct EvaluationValue {
  double value = 0;
  std::string name = "loss";
  bool higher_is_better = false;
  bool operator==(const EvaluationValue&) const = default;
};
std::optional<EvaluationValue> evaluation_value(const std::string& extra);

using EvaluationValues = std::map<std::uint64_t, EvaluationValue>;  // by the step of the checkpoint
// Returns the values of all evaluated checkpoints, without those of `damaged_steps` and those whose
// manifest cannot be read.
EvaluationValues evaluation_values(const Disk& disk, const std::string& directory,
                                   const std::set<std::uint64_t>& damaged_steps = {});
// Returns the step of the best checkpoint, by the kind of value that the newest has; the older one
// of two that are equal. Nothing if none was evaluated.
std::optional<std::uint64_t> best_of(const EvaluationValues& values);

// The name of the link to the best checkpoint, in a folder of checkpoints.
inline constexpr const char* best_link_name = "best";
// Points the link to the checkpoint of `step`, or removes it. Returns false if the file system has
// no links. A file of that name that is no link stays.
bool set_best_link(const std::string& directory, std::optional<std::uint64_t> step);

}  // namespace d9d
