#include "runtime/rank/measured/rank_metrics.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/json_text.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {

void declare_task_metrics(const TrainTask& task, Compose& metrics) {
  call_user("the task's create_metrics", ErrorInside::bug_is_named, [&] { task.create_metrics(metrics); });
}

RankMetrics::RankMetrics(const Declare& declare, bool counts_loss)
    : counts_loss_(counts_loss), beside_(std::make_shared<TaskCounts>(declare)) {
  declare(here_);
  declare(dropped_);
}

std::vector<std::string> RankMetrics::load(const std::vector<std::string>& states) {
  std::set<std::string> unknown;
  for (const std::string& state : states) {
    for (std::string& name : here_.merge_json(parse_json<nlohmann::json>(state)))
      unknown.insert(std::move(name));
  }
  return {unknown.begin(), unknown.end()};
}

Compose& RankMetrics::all() {
  here_.merge(beside_->take());
  return here_;
}

std::vector<double> RankMetrics::take() {
  std::vector<double> state = all().state();
  here_.reset();
  return state;
}

}  // namespace d9d
