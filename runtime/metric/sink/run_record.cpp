#include "runtime/metric/sink/run_record.hpp"

#include <array>
#include <fstream>
#include <utility>

#include "runtime/base/json_text.hpp"
#include "runtime/metric/sink/append_file.hpp"

namespace d9d {
namespace {

using Line = nlohmann::ordered_json;

constexpr std::array outcome_names{std::pair{RunOutcome::finished, "finished"},
                                   std::pair{RunOutcome::stopped, "stopped"},
                                   std::pair{RunOutcome::failed, "failed"}};

// After a line that a full disk has cut short it begins a line of its own.
void append_line(const std::filesystem::path& path, const Line& line) {
  AppendFile file(path, AppendFile::Mode::keep);
  std::ifstream in(path, std::ios::binary);
  in.seekg(-1, std::ios::end);
  const bool torn = file.size() > 0 && in.get() != '\n';
  file.append((torn ? "\n" : "") + shown_json(line) + "\n");
  file.close();
}

template <class Value>
Value value_of(const Line& line, const char* key, Value otherwise) {
  try {
    return line.value(key, std::move(otherwise));
  } catch (const Line::exception&) {
    return {};  // of another type
  }
}

std::optional<RunEnd> end_in(const Line& line) {
  const std::string how = value_of(line, "end", std::string());
  for (const auto& [outcome, name] : outcome_names) {
    if (how == name)
      return RunEnd{outcome, value_of(line, "reason", std::string()), value_of(line, "time", 0.0)};
  }
  return {};
}

}  // namespace

void record_start(const std::filesystem::path& path, const RunStart& start) {
  append_line(
      path,
      {{"start_after_step", start.step}, {"time", start.time}, {"build", start.build}, {"job", start.job}});
}

void record_end(const std::filesystem::path& path, const RunEnd& end) {
  const char* name = "";
  for (const auto& [outcome, its_name] : outcome_names) {
    if (outcome == end.outcome) name = its_name;
  }
  append_line(path, {{"end", name}, {"time", end.time}, {"reason", end.reason}});
}

std::vector<RunStart> read_run_record(const std::filesystem::path& path) {
  std::vector<RunStart> starts;
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    const Line line = Line::parse(text, nullptr, false);
    if (!line.is_object()) continue;
    if (line.contains("start_after_step")) {
      starts.push_back({.time = value_of(line, "time", 0.0),
                        .step = value_of(line, "start_after_step", std::uint64_t{0}),
                        .build = value_of(line, "build", std::string()),
                        .job = value_of(line, "job", Line())});
    } else if (const auto end = end_in(line); end && !starts.empty() && !starts.back().end) {
      starts.back().end = end;
    }
  }
  return starts;
}

}  // namespace d9d
