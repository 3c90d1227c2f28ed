#pragma once
// Checks the job file against the parameters of a plugin's model, which are known only when its stages are
// built, and the rules of a plugin's optimizer. For a built-in model and optimizer runtime/job/rule/job_validation.hpp
// makes the same checks before the job starts.

#include <map>
#include <string>
#include <vector>

#include "runtime/nn/shard/stage_groups.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/train/optimizer/optimizer_provider.hpp"

namespace d9d {

// Checks the optimizer's rules and the job's `patterns` (by their keys) against `parameters` of this
// rank's stages. All ranks of the job must call it at the same point: if there is something to check,
// the ranks of a pipeline exchange their parameters. Input error for a rule from which no trainable
// parameter of any stage takes its settings, and for a pattern that matches none. Returns warnings, the
// same on all ranks of the pipeline.
std::vector<std::string> check_plugin_parameters(const std::vector<StageParameter>& parameters,
                                                 const OptimizerProvider& optimizer,
                                                 const std::map<std::string, std::string>& patterns,
                                                 const MeshDomains& domains, const OpenGroup& open);

}  // namespace d9d
