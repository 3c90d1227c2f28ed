#pragma once
// `run.jsonl` records how a run went: a line with the job when training begins, and a line when it
// ends. A start without an end is still running, or was killed. Environment errors name the path.

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
  std::uint64_t step = 0;  // the resumed checkpoint's; 0: from the beginning
  std::string build;
  nlohmann::ordered_json job = {};  // its keys, without secrets
  std::optional<RunEnd> end = {};
};

// Writes a start, without `start.end`.
void record_start(const std::filesystem::path& path, const RunStart& start);
void record_end(const std::filesystem::path& path, const RunEnd& end);
// Reads all starts in order. The text is untrusted: other lines are skipped.
std::vector<RunStart> read_run_record(const std::filesystem::path& path);

}  // namespace d9d
