#pragma once
// Writes TensorBoard event files into a folder. Each opening makes a new file, which readers
// read after the older ones. A full disk ends nothing: 16 MiB of values wait in memory,
// later ones are dropped.

#include <filesystem>

#include "runtime/base/clock.hpp"
#include "runtime/metric/sink/append_file.hpp"
#include "runtime/metric/sink/tracker.hpp"
#include "runtime/metric/sink/write_retry.hpp"

namespace d9d {

struct TensorboardOptions {
  std::filesystem::path log_dir;
  std::string host;  // part of the file name
  std::int64_t last_step =
      0;  // the checkpoint that is resumed: readers drop the steps after it from older files
};

class TensorboardRun final : public TrackerRun {
 public:
  // The clock outlives the run.
  TensorboardRun(const TensorboardOptions& options, const Clock& clock);
  ~TensorboardRun() override;

  void write(const Point& point, const TrackerValue& value) override;
  void end_step(std::int64_t step) override;
  // For the dashboard of hyperparameters, and as a Markdown table under the tag `hparams`.
  void hparams(const nlohmann::json& hparams) override;
  void flush() override;
  void close() override;

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  double now() const;
  void add(const std::string& event);
  void publish(bool urgent);

  const Clock& clock_;
  AppendFile file_;
  WriteRetry retry_;
  std::string pending_;
  std::uint64_t left_out_ = 0;
};

}  // namespace d9d
