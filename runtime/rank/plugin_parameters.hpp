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

// `parameters`: of this rank's stages. All ranks of a job call it at the same point; if the optimizer's
// options or the job's `patterns` (by their keys) need it, the ranks of a pipeline wait for each other to put their
// parameters together. Input error: rules that no trainable parameter of any stage takes its settings from, and
// patterns that match none. Returns warnings, the same on all ranks of the pipeline.
std::vector<std::string> check_plugin_parameters(const std::vector<StageParameter>& parameters,
                                                 const OptimizerProvider& optimizer,
                                                 const std::map<std::string, std::string>& patterns,
                                                 const MeshDomains& domains, const OpenGroup& open);

}  // namespace d9d
