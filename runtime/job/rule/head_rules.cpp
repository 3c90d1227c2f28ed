#include "runtime/job/rule/head_rules.hpp"

#include <fmt/format.h>

#include "runtime/data/config/data_parts.hpp"

namespace d9d {
namespace {

using Issues = std::vector<JobIssue>;

template <class Kind>
bool has_head(const FamilyModel& model) {
  const auto head = model.heads.find("");
  return head != model.heads.end() && std::holds_alternative<Kind>(head->second);
}

void check_labels(const FamilyModel& model, Issues& issues) {
  for (const auto& [name, head] : model.heads) {
    const auto* scores = std::get_if<ClassificationHead>(&head);
    if (scores == nullptr) continue;
    const std::string path = name.empty() ? "model_provider.head" : "model_provider.heads." + name;
    const bool one = scores->num_labels == 1;
    if (scores->learns() == ProblemType::multi_label_classification) {
      issues.push_back(
          {path + ".problem_type", "multi_label_classification is not supported: a text has one label",
           "choose single_label_classification, or a task of a plugin for a head without the key"});
    } else if (scores->learns() == ProblemType::regression && !one) {
      issues.push_back(
          {path + ".problem_type",
           fmt::format("regression of {} numbers is not supported: a text has one", scores->num_labels),
           "set num_labels: 1, or leave problem_type out and give a task of a plugin"});
    } else if (scores->learns() == ProblemType::single_label_classification && one) {
      issues.push_back({path + ".problem_type",
                        "single_label_classification of one label learns nothing: it has no other",
                        "leave it out (a regression), or set num_labels: 2"});
    }
  }
}

// data.targets are numbers for one score.
void check_targets(const JobConfig& job, const FamilyModel& model, Issues& issues) {
  const bool own_task = std::holds_alternative<config::Named>(job.task);
  const bool learns = std::holds_alternative<ClassificationConfig>(job.task) && is_regression(model);
  if (own_task || learns) return;
  const auto check = [&](const DataConfig& data, const std::string& section) {
    for (const DataPart& part : parts_of(data)) {
      const auto* tokens = std::get_if<TokensDataConfig>(&part.source);
      if (tokens == nullptr || !tokens->targets) continue;
      issues.push_back({section + part.path + ".targets",
                        "numbers to learn, which neither task nor head of this job do",
                        "set `task: {name: classification}` and `model_provider.head: {kind: classification, "
                        "num_labels: 1}`, or give labels"});
    }
  };
  check(job.data, "");
  if (job.evaluation) check(job.evaluation->data, "evaluation.");
}

void check_embedding(const JobConfig& job, const FamilyModel& model, Issues& issues) {
  if (!std::holds_alternative<EmbeddingConfig>(job.task)) return;
  if (!job.inference) {
    issues.push_back({"task", "embedding has no loss to train with",
                      "give a section `inference` in the place of `trainer`, or a task of a plugin"});
  }
  if (!has_head<EmbeddingHead>(model)) {
    issues.push_back({"task", "embedding, but the model gives no embeddings",
                      "set `model_provider.head: {kind: embedding}`"});
  }
  if (job.mesh.context_parallel() > 1) {
    issues.push_back({"task", "embedding reads the last token of a sample, which one rank has alone",
                      "set the context-parallel degrees of `mesh` to 1"});
  }
}

void check_masked(const JobConfig& job, const FamilyModel& model, Issues& issues) {
  const auto* const task = std::get_if<MaskedLmConfig>(&job.task);
  if (task == nullptr) return;
  if (!model.heads.empty()) {
    issues.push_back({"task",
                      "masked_lm reads the loss of tokens, which model_provider.head and heads replace",
                      "leave them out, or give the task of the head"});
  }
  if (model.causal) {
    issues.push_back(
        {"task",
         "masked_lm learns words by those on both sides, but tokens of this model see only those before them",
         "set model_provider.model.is_causal: false, or `task: {name: causal_lm}`"});
  }
  if (model.prediction_depths > 0) {
    issues.push_back({"task", "masked_lm and multi-token prediction, which learns the tokens after each",
                      "leave model_provider.model.mtp_loss_factor out"});
  }
  if (task->mask_token_id >= model.vocab_size) {
    issues.push_back(
        {"task.mask_token_id",
         fmt::format("is {}, but the model's vocabulary has {} words", task->mask_token_id, model.vocab_size),
         "give the id of the tokenizer's mask"});
  }
  if (task->mlm_probability == 0) {
    issues.push_back({"task.mlm_probability", "is 0: there is nothing to learn", "give a share above 0"});
  }
  if (task->mask_replace_prob + task->random_replace_prob > 1) {
    issues.push_back({"task.random_replace_prob",
                      fmt::format("is {}, with mask_replace_prob ({}) more than 1", task->random_replace_prob,
                                  task->mask_replace_prob),
                      "give shares of the same tokens: 0.8 and 0.1"});
  }
}

void check_task(const JobConfig& job, const FamilyModel& model, Issues& issues) {
  if (std::holds_alternative<CausalLmConfig>(job.task) && !model.heads.empty()) {
    issues.push_back({"task",
                      "causal_lm reads the loss of tokens, which model_provider.head and heads replace",
                      "set `task: {name: classification}` for a classifier, else a task of a plugin"});
  } else if (std::holds_alternative<CausalLmConfig>(job.task) && !model.causal) {
    issues.push_back(
        {"task", "causal_lm learns the token after each, which tokens of this model see: is_causal is false",
         "set `task: {name: masked_lm}` for words that are left out, or give the model a head for classes or "
         "vectors (model_provider.head) and its task"});
  }
  if (std::holds_alternative<ClassificationConfig>(job.task) && !has_head<ClassificationHead>(model)) {
    issues.push_back({"task", "classification, but the model does not classify",
                      "set `model_provider.head: {kind: classification, num_labels: N}`"});
  }
  check_embedding(job, model, issues);
  check_masked(job, model, issues);
}

void check_export(const JobConfig& job, const FamilyModel& model, Issues& issues) {
  if ((!job.export_to && !job.export_adapter_to) || model.heads.empty()) return;
  const char* const key = job.export_to ? "export_to" : "export_adapter_to";
  const auto& [name, head] = *model.heads.begin();
  const auto* embedding = std::get_if<EmbeddingHead>(&head);
  if (!name.empty()) {
    issues.push_back({key, "a model with several heads has no form among Hugging Face's",
                      "leave it out, or give one `head`"});
  } else if (embedding != nullptr && embedding->embedding_dim) {
    issues.push_back({key, "an embedding head with a projection has no form among Hugging Face's models",
                      "leave it or model_provider.head.embedding_dim out"});
  }
}

}  // namespace

bool is_regression(const FamilyModel& model) {
  const auto head = model.heads.find("");
  if (head == model.heads.end()) return false;
  const auto* scores = std::get_if<ClassificationHead>(&head->second);
  return scores != nullptr && scores->num_labels == 1;
}

std::optional<std::int64_t> num_classes(const JobConfig& job, const FamilyModel& model) {
  if (job.inference || !std::holds_alternative<ClassificationConfig>(job.task)) return std::nullopt;
  if (!has_head<ClassificationHead>(model) || is_regression(model)) return std::nullopt;
  return std::get<ClassificationHead>(model.heads.at("")).num_labels;
}

std::vector<JobIssue> head_issues(const JobConfig& job, const FamilyModel& model) {
  Issues issues;
  check_task(job, model, issues);
  check_labels(model, issues);
  check_targets(job, model, issues);
  check_export(job, model, issues);
  if (model.hidden_states != HiddenStateSummary::no && job.mesh.context_parallel() > 1) {
    issues.push_back({"model_provider.hidden_states",
                      "sums over sequences, which context parallelism shares between ranks",
                      "set it to no, or the context-parallel degrees of `mesh` to 1"});
  }
  const BalanceOptions balance = model.balance();
  if (!model.heads.empty() && balance.layers > 0 && (balance.weight != 0 || balance.z_weight != 0)) {
    issues.push_back({"model_provider.heads",
                      "losses on the routing of experts are added to those of tokens, which these heads lack",
                      "set router_aux_loss_coef and router_z_loss_coef to 0"});
  }
  if (!model.heads.empty() && model.prediction_depths > 0) {
    issues.push_back({"model_provider.model.mtp_loss_factor",
                      "multi-token prediction adds to the loss of tokens, which these heads lack",
                      "leave it out, or the heads"});
  }
  return issues;
}

}  // namespace d9d
