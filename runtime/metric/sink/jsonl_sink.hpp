#pragma once
// Writes `metrics.jsonl`: one JSON object per step, in order of steps, with every value of that
// step at full double precision (NaN and infinities as null). A line appears at end_step and
// survives a kill. A later value (of a metric that is reduced beside training) is added to its
// step's line, as long as that is one of the last lines; the line of the resumed step is one, too.
// A full disk ends nothing: up to 10,000 lines wait in memory.

#include <filesystem>
#include <map>

#include "runtime/metric/sink/append_file.hpp"
#include "runtime/metric/sink/tracker.hpp"
#include "runtime/metric/sink/write_retry.hpp"

namespace d9d {

class JsonlRun final : public TrackerRun {
 public:
  // `last_step` is the step of the checkpoint that is resumed: lines of later steps come from a run that was
  // killed after it and are removed, and a torn last line is repaired, both by temporary file and rename. 0 is a
  // run from the beginning: a file that is there becomes `old-N.metrics.jsonl`. Lines without a step stay. Text
  // that is no JSON is moved to `path`.unreadable with a warning, because readers stop at it. If another program
  // moves or cuts the file meanwhile, writing continues at its end, with a warning.
  JsonlRun(const std::filesystem::path& path, std::int64_t last_step);
  ~JsonlRun() override;

  void write(const Point& point, const TrackerValue& value) override;
  void end_step(std::int64_t step) override;
  void hparams(const nlohmann::json& /*hparams*/) override {}
  void flush() override;
  void close() override;

 private:
  static constexpr std::size_t remembered_lines = 64;
  static constexpr std::size_t waiting_lines_max = 10'000;
  static constexpr std::uint64_t not_written = ~0ULL;
  struct Line {
    nlohmann::ordered_json values;
    std::uint64_t offset = not_written;
    bool changed = true;
  };

  void remember_last_line(std::int64_t last_step);
  void publish(bool urgent);
  void forget_old_lines(std::size_t remembered);
  void find_end_again();

  AppendFile file_;
  WriteRetry retry_;
  std::map<std::int64_t, Line> lines_;  // the last ones written, and those not written yet
  std::int64_t published_;              // lines up to this step are in the file
  std::int64_t forgotten_;              // lines up to this step no longer change
  std::uint64_t late_values_ = 0;
  std::uint64_t lost_lines_ = 0;
};

// Only removes such lines, with the warnings. Returns true if the file had to be rewritten.
bool purge_jsonl(const std::filesystem::path& path, std::int64_t last_step);

}  // namespace d9d
