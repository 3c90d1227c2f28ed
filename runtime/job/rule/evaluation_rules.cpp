#include "runtime/job/rule/evaluation_rules.hpp"

#include "runtime/job/rule/context_rules.hpp"
#include "runtime/job/rule/data_rules.hpp"

namespace d9d {
namespace {

void of_best(const JobConfig& job, std::vector<JobIssue>& issues) {
  if (!job.evaluation) {
    issues.push_back(
        {"export", "best, but nothing is evaluated", "add a section `evaluation`, or leave it out"});
  } else if (job.trainer.checkpointing.num_to_keep && !job.evaluation->keep_best) {
    issues.push_back({"export", "best, but trainer.checkpointing.num_to_keep would remove it",
                      "set evaluation.keep_best: true"});
  }
}

std::string name_behind_slash(const std::string& metric) {
  return metric.substr(metric.rfind('/') + 1);
}

void of_comparison(const EvaluationConfig& evaluation, std::vector<JobIssue>& issues) {
  if (!higher_is_better(evaluation)) {
    issues.push_back({"evaluation.higher_is_better",
                      "missing, and nothing says whether a higher " + evaluation.metric + " is better",
                      "set it to true or false"});
  }
  if (evaluation.metric == "loss" && evaluation.higher_is_better.value_or(false))
    issues.push_back({"evaluation.higher_is_better", "true, but a lower loss is better", "leave it out"});
}

}  // namespace

std::optional<bool> higher_is_better(const EvaluationConfig& evaluation) {
  if (evaluation.higher_is_better) return evaluation.higher_is_better;
  const std::string name = name_behind_slash(evaluation.metric);
  if (name == "loss" || name == "perplexity") return false;
  if (name == "accuracy") return true;
  return std::nullopt;
}

// The rules are those of the section `data`, with another section in its place.
std::vector<JobIssue> evaluation_issues(const JobConfig& job, const FamilyModel* model) {
  std::vector<JobIssue> issues;
  if (job.export_ == ExportChoice::best) of_best(job, issues);
  if (!job.evaluation) return issues;
  of_comparison(*job.evaluation, issues);
  if (std::holds_alternative<SyntheticDataConfig>(job.evaluation->data) && !job.evaluation->batches) {
    issues.push_back({"evaluation.batches", "missing, and synthetic data never ends",
                      "add the number of batches, e.g. `batches: 8`"});
  }
  JobConfig evaluated = job;
  evaluated.data = job.evaluation->data;
  const auto add = [&](const std::vector<JobIssue>& found) {
    for (const JobIssue& issue : found) {
      if (!issue.path.starts_with("data")) continue;  // of the mesh: training's check says it
      issues.push_back({"evaluation." + issue.path, issue.what, issue.remedy});
    }
  };
  add(data_issues(evaluated, model));
  add(context_issues(evaluated, model));
  return issues;
}

}  // namespace d9d
