#include "runtime/job/rule/context_rules.hpp"

#include <fmt/format.h>

#include <numeric>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/family/position_limit.hpp"
#include "runtime/job/sample_length.hpp"

namespace d9d {
namespace {

std::optional<JobIssue> heads_issue(const JobConfig& job, const ModelDescription& model) {
  const std::int64_t ranks = job.mesh.context_parallel();
  const std::int64_t heads = model.attention().num_heads / job.mesh.tensor_parallel;
  if (job.parallelism.context.attention != ContextAttention::ulysses || heads % ranks == 0) return {};
  return JobIssue{
      "parallelism.context.attention",
      fmt::format("ulysses cannot share {} attention heads{} over {} context-parallel ranks", heads,
                  job.mesh.has_tensor_parallel() ? " of a tensor-parallel rank" : "", ranks),
      "choose ring, or a degree that divides the heads"};
}

std::optional<JobIssue> position_issue(const FamilyModel& model, const std::string& key,
                                       std::int64_t length) {
  const std::int64_t limit = position_limit(model);
  if (length <= limit) return {};
  const bool stretched = limit != model.max_position_embeddings;
  return JobIssue{
      key,
      fmt::format("{}, but the model has positions for {} (max_position_embeddings{})",
                  counted(length, "token"), limit, stretched ? " and RoPE scaling" : ""),
      fmt::format("give at most {}, or raise model_provider.model.max_position_embeddings", limit)};
}

std::optional<JobIssue> sharing_issue(const JobConfig& job, const std::string& key, std::int64_t length) {
  const std::int64_t ranks = job.mesh.context_parallel();
  const std::int64_t shares = job.mesh.tensor_parallel;  // of each rank's tokens
  const std::int64_t dealt = length_unit(job.parallelism.context.order, static_cast<int>(ranks));
  const std::int64_t unit = sequence_unit(job);
  if (length % unit == 0) return {};
  const std::int64_t above = (length + unit - 1) / unit * unit;
  if (ranks == 1) {
    return JobIssue{key,
                    fmt::format("{} cannot be shared by the {} of tensor_parallel", counted(length, "token"),
                                counted(shares, "rank")),
                    fmt::format("give {}", above)};
  }
  const bool zigzag = dealt != ranks;
  return JobIssue{
      key,
      fmt::format("{} cannot be dealt out to {}: not divisible by {}{}", counted(length, "token"),
                  counted(ranks, "context-parallel rank"), unit,
                  zigzag ? " (zigzag: two chunks a rank)" : ""),
      above == unit ? fmt::format("give {}", above) : fmt::format("give {} or {}", above - unit, above)};
}

}  // namespace

std::int64_t sequence_unit(const JobConfig& job) {
  const std::int64_t ranks = job.mesh.context_parallel();
  return std::lcm(length_unit(job.parallelism.context.order, static_cast<int>(ranks)),
                  ranks * job.mesh.tensor_parallel);
}

std::vector<JobIssue> sequence_issues(const JobConfig& job, const FamilyModel* model, const std::string& key,
                                      std::int64_t length) {
  std::vector<JobIssue> issues;
  const auto add = [&](std::optional<JobIssue> issue) {
    if (issue) issues.push_back(*std::move(issue));
  };
  add(sharing_issue(job, key, length));
  if (model) add(position_issue(*model, key, length));
  return issues;
}

void require_sequence(const JobConfig& job, const FamilyModel* model, std::int64_t length) {
  for (const JobIssue& issue : sequence_issues(job, model, length_key(job.data), length)) {
    throw Error(ErrorKind::input, fmt::format("{}: {}; {}", issue.path, issue.what, issue.remedy));
  }
}

std::vector<JobIssue> context_issues(const JobConfig& job, const FamilyModel* model) {
  std::vector<JobIssue> issues;
  if (const auto length = given_length(job.data)) {
    issues = sequence_issues(job, model, length_key(job.data), *length);
  }
  if (model && job.mesh.context_parallel() > 1) {
    if (auto issue = heads_issue(job, *model)) issues.push_back(*std::move(issue));
  }
  return issues;
}

}  // namespace d9d
