#pragma once
// Whether what an inference job would add belongs to the results that are there.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/resume/changed_inputs.hpp"

namespace d9d {

// Input error, with what differs and how to begin anew, where another model, task or order of samples made the results
// before the checkpoint: the file would hold rows of both. `keys`: of the job that wrote it, JSON; `changes` and
// `tokenizer` as told_changes() takes them. Files that are the same at another place differ in nothing.
void require_same_results(const JobConfig& job, const nlohmann::json& keys,
                          const std::vector<ChangedInput>& changes, const std::vector<std::string>& tokenizer,
                          bool knows_weights);

}  // namespace d9d
