#pragma once
// The folder of a small run.

#include <fmt/format.h>

#include <fstream>

#include "runtime/metric/sink/run_record.hpp"
#include "runtime/report/run_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {

class RunMaker {
 public:
  const TemporaryFolder& folder() const { return folder_; }

  // Loss 8, 7, 6, ..., a thousand tokens and half a second for each step.
  RunMaker& steps(int count) {
    std::ofstream metrics(folder_ / "metrics.jsonl", std::ios::app);
    for (int step = 1; step <= count; ++step) {
      metrics
          << fmt::format(
                 R"({{"step":{},"loss":{},"grad_norm":1.5,"lr":0.001,"tokens":1000,"tokens_per_second":{},"step_seconds":0.5,)"
                 R"("tokens_total":{},"metrics/expert_load/max_over_mean":1.25}})",
                 step, 9 - step, 2000 + step, 1000 * step)
          << "\n";
    }
    return *this;
  }
  RunMaker& started(std::uint64_t step, const nlohmann::ordered_json& job) {
    record_start(folder_ / run_record_name, {.time = 1.7e9, .step = step, .build = "0.1.0-test", .job = job});
    return *this;
  }
  RunMaker& ended(RunOutcome outcome, const std::string& reason) {
    record_end(folder_ / run_record_name, {.outcome = outcome, .reason = reason, .time = 1.7e9 + 60});
    return *this;
  }
  report::RunFolder look() const { return report::look_at_run(PosixDisk(), folder_.path()); }

 private:
  TemporaryFolder folder_;
};

inline nlohmann::ordered_json job_of(const std::string& name, int total_steps) {
  return {
      {"mesh", {{"pipeline_parallel", 2}, {"data_parallel_replicate", 1}}},
      {"trainer",
       {{"run", {{"name", name}, {"description", nullptr}}}, {"schedule", {{"total_steps", total_steps}}}}},
      {"optimizer", {{"name", "adamw"}, {"lr", 0.001}, {"betas", {0.9, 0.95}}}}};
}

}  // namespace d9d::test
