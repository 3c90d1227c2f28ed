#pragma once
// `run.jsonl`: what became of a run. A line when training begins, with the job, and one when it ends. A start
// without an end is still going on, or was killed. Errors are environment errors that name the path.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace d9d {

inline constexpr const char* run_record_name = "run.jsonl";

enum class RunOutcome { finished, stopped, failed };  // stopped: by a signal

struct RunEnd {
  RunOutcome outcome = RunOutcome::finished;
  std::string reason;
  double time = 0;  // seconds since 1970
};

struct RunStart {
  double time = 0;         // seconds since 1970
  std::uint64_t step = 0;  // of the checkpoint that it went on from; 0: from the beginning
  std::string build;
  nlohmann::ordered_json job = {};  // its keys, without secrets
  std::optional<RunEnd> end = {};
};

// `start.end` is not written.
void record_start(const std::filesystem::path& path, const RunStart& start);
void record_end(const std::filesystem::path& path, const RunEnd& end);
// In order. Untrusted text: lines that are none of these are left out.
std::vector<RunStart> read_run_record(const std::filesystem::path& path);

}  // namespace d9d
