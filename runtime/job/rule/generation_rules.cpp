#include "runtime/job/rule/generation_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/family/position_limit.hpp"
#include "runtime/job/model_tokenizer.hpp"
#include "runtime/job/sample_length.hpp"

namespace d9d {
namespace {

void check_generation_mesh(const JobConfig& job, std::vector<JobIssue>& issues) {
  if (job.mesh.context_parallel() == 1) return;
  issues.push_back(
      {"mesh.context_parallel_shard",
       "the task generation cannot share sequences between ranks: a pass has one new token of each "
       "text, which one rank computes",
       "set context_parallel_shard and context_parallel_replicate to 1, and use the ranks for "
       "pipeline_parallel, tensor_parallel or data_parallel_shard"});
}

void check_stop_texts(const JobConfig& job, const GenerationConfig& task, std::vector<JobIssue>& issues) {
  if (task.stop_texts.empty()) return;
  if (std::ranges::find(task.stop_texts, "") != task.stop_texts.end())
    issues.push_back({"task.stop_texts", "an empty text would end every text at once", "leave it out"});
  if (tokenizer_of_model(job)) return;
  issues.push_back({"task.stop_texts", "a tokenizer finds them, and none lies beside the model",
                    "put its tokenizer.json into the model's folder, or name token ids with stop_tokens"});
}

void check_prompt_room(const JobConfig& job, const GenerationConfig& task, const FamilyModel& model,
                       std::vector<JobIssue>& issues) {
  const auto length = given_length(job.data);
  const std::int64_t limit = position_limit(model);
  if (!length || *length + task.max_new_tokens <= limit) return;
  issues.push_back({"task.max_new_tokens",
                    fmt::format("{} after prompts of up to {} tokens are more than the model's {} positions",
                                task.max_new_tokens, *length, limit),
                    fmt::format("give at most {}, or shorter prompts ({})",
                                std::max<std::int64_t>(0, limit - *length), length_key(job.data))});
}

}  // namespace

std::vector<JobIssue> generation_issues(const JobConfig& job, const FamilyModel* model) {
  const auto* task = std::get_if<GenerationConfig>(&job.task);
  if (task == nullptr) return {};
  std::vector<JobIssue> issues;
  if (!job.inference) {
    issues.push_back({"task", "generation makes texts, and nothing that trains",
                      "give the section `inference` in the place of `trainer`, or another task"});
  }
  if (task->top_p <= 0 || task->top_p > 1) {
    issues.push_back({"task.top_p", fmt::format("{}", task->top_p), "give a number above 0, at most 1"});
  }
  if (task->repetition_penalty <= 0) {
    issues.push_back({"task.repetition_penalty", fmt::format("{}", task->repetition_penalty),
                      "give a number above 0; 1 penalises nothing"});
  }
  check_stop_texts(job, *task, issues);
  if (job.trainer.batching.cut_to_longest) {
    issues.push_back({"inference.batching.cut_to_longest", "a text goes on where its row is filled up",
                      "leave it out; give data.sequence_length the length of the longest prompt"});
  }
  check_generation_mesh(job, issues);
  if (model == nullptr) return issues;
  if (!model->heads.empty()) {
    issues.push_back({"task",
                      "generation reads the logits of all words, which model_provider.head and heads replace",
                      "leave head and heads out"});
  }
  if (!model->causal) {
    issues.push_back(
        {"task",
         "generation makes a text token by token, but tokens of this model see those after them: "
         "is_causal is false",
         "choose the task embedding or classification, or a causal model"});
  }
  check_prompt_room(job, *task, *model, issues);
  return issues;
}

}  // namespace d9d
