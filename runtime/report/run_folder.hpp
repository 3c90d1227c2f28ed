#pragma once
// Reads what a run has left in its folder. Changes nothing.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/codec.hpp"
#include "runtime/metric/sink/run_record.hpp"
#include "runtime/report/chart/curves.hpp"
#include "runtime/state/checkpoint/checkpoint_survey.hpp"

namespace d9d::report {

// In the folder of a run.
inline constexpr const char* node_0_log = "logs/node-0.log";

struct RunFolder {
  std::filesystem::path path;
  std::string name;  // of the run
  Curves curves;
  std::vector<RunStart> starts;  // empty: made by an earlier version, or training never began
  config::Json job;              // its keys; null if they are not known
  std::string job_from;          // the file that they were read from
  bool has_log = false;          // of node 0, in node_0_log
  bool is_running = false;       // a job on this host is running in it
  std::string checkpoint_folder;
  std::vector<SaveSummary> checkpoints;             // newest first
  std::string checkpoint_problem;                   // why they could not be listed
  std::optional<std::filesystem::path> trace;       // of the last start
  std::vector<std::filesystem::path> other_traces;  // of earlier starts, and of chosen steps
  std::vector<std::filesystem::path> samples;       // generated text: samples*.txt, samples/*.txt

  // The value at a JSON pointer of the job; null where there is none.
  config::Json key(const std::string& pointer) const;
};

// Reads the folder of a run. Input error: `directory` does not exist or is no run's folder; the
// error names runs below it, if there are any.
RunFolder look_at_run(const Disk& disk, const std::filesystem::path& directory);

}  // namespace d9d::report
