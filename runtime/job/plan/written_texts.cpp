#include "runtime/job/plan/written_texts.hpp"

namespace d9d {

WrittenTexts texts_of_rollouts(const JobConfig& job, const JobPlan& plan, int batches,
                               const RolloutOptions& options, std::int64_t sequence_length) {
  const std::int64_t samples = plan.microbatches * job.trainer.batching.microbatch_size * batches;
  return texts_of_prompts(plan, samples * options.texts_per_sample,
                          options.prompt_tokens_max > 0 ? options.prompt_tokens_max : sequence_length,
                          options.max_new_tokens);
}

WrittenTexts texts_of_prompts(const JobPlan& plan, std::int64_t prompts, std::int64_t prompt_tokens,
                              std::int64_t new_tokens) {
  const std::int64_t microbatches = microbatches_of_texts(prompts, plan.topology.num_stages());
  return {.texts = prompts,
          .in_a_pass = (prompts + microbatches - 1) / microbatches,
          .prompt_tokens = prompt_tokens,
          .new_tokens = new_tokens};
}

// A model in one stage goes on with one microbatch at a time; several stages have those of a step in rotation.
std::optional<WrittenTexts> texts_of_task(const JobConfig& job, const JobPlan& plan,
                                          std::int64_t sequence_length) {
  const auto* const task = std::get_if<GenerationConfig>(&job.task);
  if (task == nullptr) return std::nullopt;
  const std::int64_t in_a_pass = job.trainer.batching.microbatch_size;
  return WrittenTexts{.texts = in_a_pass * (plan.topology.num_stages() > 1 ? plan.microbatches : 1),
                      .in_a_pass = in_a_pass,
                      .prompt_tokens = sequence_length,
                      .new_tokens = task->max_new_tokens};
}

}  // namespace d9d
