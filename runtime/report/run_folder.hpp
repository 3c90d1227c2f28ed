#pragma once
// What a run has left in its folder. Only looks.

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
  std::vector<RunStart> starts;  // empty: of an earlier version, or it never began to train
  config::Json job;              // its keys; null where nothing tells them
  std::string job_from;          // where they are from
  bool has_log = false;          // of node 0, in node_0_log
  bool is_running = false;       // a job of this host is running in it
  std::string checkpoint_folder;
  std::vector<SaveSummary> checkpoints;             // newest first
  std::string checkpoint_problem;                   // why they could not be listed
  std::optional<std::filesystem::path> trace;       // of the last start
  std::vector<std::filesystem::path> other_traces;  // of earlier starts, and of chosen steps
  std::vector<std::filesystem::path> samples;       // generated text: samples*.txt, samples/*.txt

  // The value at a JSON pointer of the job; null where there is none.
  config::Json key(const std::string& pointer) const;
};

// An input error when `directory` is not there or is the folder of no run: names runs below it, if there are.
RunFolder look_at_run(const Disk& disk, const std::filesystem::path& directory);

}  // namespace d9d::report
