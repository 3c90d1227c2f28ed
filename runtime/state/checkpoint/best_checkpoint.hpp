#pragma once
// Which checkpoint of a run was the best when it was evaluated: by the loss, or the metric that evaluation.metric names.
// No torch.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

// The loss of the evaluation that a checkpoint was written right after, from `extra` of its manifest.
std::optional<double> evaluation_loss(const std::string& extra);

// What that evaluation is compared by: the metric where the checkpoint has one, else the loss.
struct EvaluationValue {
  double value = 0;
  std::string name = "loss";
  bool higher_is_better = false;
  bool operator==(const EvaluationValue&) const = default;
};
std::optional<EvaluationValue> evaluation_value(const std::string& extra);

using EvaluationValues = std::map<std::uint64_t, EvaluationValue>;  // by the step of the checkpoint
// Of those that were evaluated. Those of `damaged_steps` and those whose manifest cannot be read do not count.
EvaluationValues evaluation_values(const Disk& disk, const std::string& directory,
                                   const std::set<std::uint64_t>& damaged_steps = {});
// The step of the best one by what the newest is compared by; the older one of two that are equal.
// Nothing where none was evaluated.
std::optional<std::uint64_t> best_of(const EvaluationValues& values);

// A link in a folder of checkpoints, to the best one.
inline constexpr const char* best_link_name = "best";
// Makes it point to the checkpoint of this step, or removes it. False where the file system has no links; a file of
// that name which is no link stays.
bool set_best_link(const std::string& directory, std::optional<std::uint64_t> step);

}  // namespace d9d
