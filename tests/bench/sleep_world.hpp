#pragma once
// A pipeline that only sleeps (fake_pipeline.hpp) under real Trainer, Loader, RankExecutor and Collective actors,
// all ranks in one process.

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/bench/fake_pipeline.hpp"

namespace d9d {

struct SleepScenario {
  std::shared_ptr<const PipelineProgram> program;
  CursorOrder order = CursorOrder::static_;
  int extra_activations = 0;  // of the dynamic order
  SleepDuration duration;
  std::uint64_t steps = 1;
  bool traced = false;
};

struct SleepRun {
  std::vector<double> step_seconds;   // as the trainer of rank 0 reports them
  std::vector<SleepLog::Step> steps;  // what the ranks did
  double cpu_seconds = 0;             // of this process, all steps
};

// Returns when all steps ran. An error of any actor is thrown.
SleepRun run_sleeping(const SleepScenario& scenario);

}  // namespace d9d
