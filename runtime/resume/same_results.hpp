#pragma once
// Checks that an inference job would add rows of the same kind to existing results.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/resume/changed_inputs.hpp"

namespace d9d {

// Input error, with the differences and how to begin anew, when another model, task or order of samples made
// the results before the checkpoint. `keys`: of the job that wrote it, JSON. `changes`, `tokenizer`: see
// told_changes(). Equal files at another path are no difference.
void require_same_results(const JobConfig& job, const nlohmann::json& keys,
                          const std::vector<ChangedInput>& changes, const std::vector<std::string>& tokenizer,
                          bool knows_weights);

}  // namespace d9d
