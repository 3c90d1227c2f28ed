// Keys that are read and then change nothing, because of what other keys say. Keys of the mesh's parts are
// not among them: one changes `mesh` and nothing else.
#include "runtime/task/job_validation.hpp"

namespace d9d {
namespace {

using Issues = std::vector<JobIssue>;

void of_text(const TextDataConfig& data, Issues& issues) {
  if (data.format == TextFormat::jsonl) {
    issues.push_back({"data.document", "a line of a jsonl file is a document", "leave it out"});
  } else {
    issues.push_back({"data.text_field", "the files are plain text", "leave it out, or set format: jsonl"});
  }
}

void of_order(bool shuffle, Issues& issues) {
  if (!shuffle)
    issues.push_back({"data.seed", "the order is the files'", "leave it out, or set shuffle: true"});
}

void of_data(const DataConfig& data, Issues& issues) {
  if (const auto* text = std::get_if<TextDataConfig>(&data)) {
    of_text(*text, issues);
    of_order(text->shuffle, issues);
  }
  if (const auto* tokens = std::get_if<TokensDataConfig>(&data)) of_order(tokens->shuffle, issues);
}

void of_profiling(const JobConfig& job, Issues& issues) {
  const auto& profiling = job.trainer.profiling;
  if (!profiling || !profiling->enabled || job.node.trace) return;
  issues.push_back({"trainer.profiling", "node.trace is false, so nothing is recorded",
                    "leave it out, or set node.trace: true"});
}

}  // namespace

std::vector<JobIssue> without_effect(const JobConfig& job) {
  Issues issues;
  of_data(job.data, issues);
  of_profiling(job, issues);
  return issues;
}

}  // namespace d9d
