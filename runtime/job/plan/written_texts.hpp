#pragma once
// The texts that the stages of a rank write at once, for the estimate of memory. No torch.

#include <cstdint>
#include <optional>

#include "runtime/data/rollout_stream.hpp"
#include "runtime/job/plan/rank_plan.hpp"

namespace d9d {

struct WrittenTexts {
  std::int64_t texts = 0;          // that are kept in caches at once
  std::int64_t in_a_pass = 0;      // of these, computed at once
  std::int64_t prompt_tokens = 0;  // of the longest prompt
  std::int64_t new_tokens = 0;     // of a text at most
};

// Between two steps, of a source whose samples the model writes. `batches`: of a step (StepPhases). Where the options
// say nothing of prompts, the longest one has as many tokens as a sample (`sequence_length`).
WrittenTexts texts_of_rollouts(const JobConfig& job, const JobPlan& plan, int batches,
                               const RolloutOptions& options, std::int64_t sequence_length);
// Between two steps, of an actor that asks for a text for each of `prompts`; the longest has `prompt_tokens`.
WrittenTexts texts_of_prompts(const JobPlan& plan, std::int64_t prompts, std::int64_t prompt_tokens,
                              std::int64_t new_tokens);
// Of the task generation; nothing: the job has another task.
std::optional<WrittenTexts> texts_of_task(const JobConfig& job, const JobPlan& plan,
                                          std::int64_t sequence_length);

}  // namespace d9d
