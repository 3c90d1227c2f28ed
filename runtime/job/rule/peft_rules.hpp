#pragma once
// What `model_provider.peft` makes of a model: for `d9d-node check`, for optimizer rules, and to find
// patterns that match nothing.

#include <cstdint>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/job/rule/job_issue.hpp"

namespace d9d {

class StageModule;
struct StageParameter;

// Gives the stage the adapters of the job, and freezes what does not train.
void adapt(const JobConfig& job, const FamilyModel& model, StageModule& stage);
// Parameters of the whole model with the adapters of the job, without storage.
// Those that train have requires_grad.
std::vector<StageParameter> adapted_parameters(const JobConfig& job, const FamilyModel& model);

// Of the whole model's weights: how many train, adapters included, and how many adapters add.
struct PeftShares {
  double trainable = 1;
  double added = 0;
  // Of the language model head's matrices.
  std::int64_t trained_of_head = 0;  // elements that train, without adapters
  bool head_adapted = false;         // its logits then exist for all tokens (nn/block/head)
};
PeftShares peft_shares(const JobConfig& job, const FamilyModel& model);

// Patterns that match no module or are no patterns, a model of which nothing trains, and keys of exports and
// checkpoints that need another one.
std::vector<JobIssue> peft_issues(const JobConfig& job, const FamilyModel& model);

}  // namespace d9d
