#pragma once
// Says in one sentence how a run ended.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/report/run_folder.hpp"

namespace d9d::report {

enum class Fate {
  finished,
  stopped,  // by a signal
  failed,
  running,
  ended,  // no end is recorded: killed, or not known
};

struct Verdict {
  Fate fate = Fate::ended;
  std::string word;  // "Finished"
  std::string
      detail;  // "700 of 700 steps, 2.87M tokens, 2 min 22 s of training, resumed once (after step 300)"
  std::string reason;  // why it failed, or how it was stopped; may be empty
};

Verdict verdict_of(const RunFolder& run);

std::uint64_t last_step(const RunFolder& run);  // 0 without any
// The job's number of steps; nothing if it runs as long as its data lasts, or if its
// keys are not known.
std::optional<std::uint64_t> total_steps(const RunFolder& run);
// Seconds of training after each logged step, without the time between two starts. Empty if no
// step has its time.
Curve elapsed_time(const RunFolder& run);
// The steps after which the run was started again.
std::vector<std::uint64_t> resumed_after(const RunFolder& run);

}  // namespace d9d::report
