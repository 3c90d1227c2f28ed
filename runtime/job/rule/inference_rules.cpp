#include "runtime/job/rule/inference_rules.hpp"

#include <fmt/format.h>

#include <string_view>

#include "runtime/base/config/node.hpp"

namespace d9d {
namespace {

constexpr std::string_view trainer_path = "trainer.";

bool has(const config::Node& root, std::string_view key) {
  const config::Node* found = root.find(key);
  return found != nullptr && found->kind != config::Node::Kind::null;
}

}  // namespace

void settle_mode(JobConfig& job, const config::Node& root, config::Problems& problems) {
  if (!job.inference) {
    for (const char* key : {"trainer", "optimizer"}) {
      if (root.find(key) != nullptr) continue;
      problems.error(root.mark, key, "missing", fmt::format("add `{}: ...` at the top of the file", key));
    }
    return;
  }
  for (const char* key : {"trainer", "optimizer", "lr_scheduler", "evaluation", "gradient_hooks", "export_to",
                          "export_adapter_to", "export"}) {
    if (!has(root, key)) continue;
    problems.error(config::locate(root, key), key, "nothing trains in a job with a section `inference`",
                   "leave one of the two out");
  }
  job.trainer = as_trainer(*job.inference);
  job.optimizer = SgdOptions{.lr = 1};  // of no parameter: it keeps nothing
}

JobIssue as_in_file(JobIssue issue, const JobConfig& job) {
  if (job.inference && issue.path.starts_with(trainer_path)) {
    issue.path = "inference." + issue.path.substr(trainer_path.size());
  }
  return issue;
}

}  // namespace d9d
