#pragma once
// Checks the job file against the parameters of a plugin's model, which are known only when its stages are
// built, the rules of a plugin's optimizer, and what the updates of a task's step move. For a built-in model and
// optimizer runtime/job/rule/job_validation.hpp makes the same checks before the job starts.

#include <map>
#include <string>
#include <vector>

#include "runtime/job/step_phases.hpp"
#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/train/optimizer/optimizer_provider.hpp"

namespace d9d {

// Checks the optimizer's rules and the job's `patterns` (by their keys) against `parameters` of this
// rank's stages. All ranks of the job must call it at the same point: if there is something to check,
// the ranks of a pipeline exchange their parameters. Input error for a rule from which no trainable
// parameter of any stage takes its settings, for a pattern that matches none (of a task's updates, too), and for a
// trainable parameter that no update moves. Returns warnings, the
// same on all ranks of the pipeline.
std::vector<std::string> check_plugin_parameters(const std::vector<StageParameter>& parameters,
                                                 const OptimizerProvider& optimizer,
                                                 const std::map<std::string, std::string>& patterns,
                                                 const std::vector<StepUpdate>& updates,
                                                 const MeshDomains& domains, const OpenGroup& open);

}  // namespace d9d
