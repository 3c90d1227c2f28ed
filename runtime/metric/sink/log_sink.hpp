#pragma once
// Scalars as lines of the log, one line per step; histograms are left out (TRACK-05, TRACK-07).

#include "runtime/metric/sink/tracker.hpp"

namespace d9d {

class LogRun final : public TrackerRun {
 public:
  void write(const Point& point, const TrackerValue& value) override;
  void end_step(std::int64_t step) override;
  void hparams(const nlohmann::json& hparams) override;
  void flush() override;
  void close() override { flush(); }

 private:
  std::map<std::int64_t, std::string> lines_;
};

// Accepts all values and does nothing.
class NullRun final : public TrackerRun {
 public:
  void write(const Point& /*point*/, const TrackerValue& /*value*/) override {}
  void end_step(std::int64_t /*step*/) override {}
  void hparams(const nlohmann::json& /*hparams*/) override {}
  void flush() override {}
  void close() override {}
};

}  // namespace d9d
