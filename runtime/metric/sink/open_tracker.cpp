#include "runtime/metric/sink/open_tracker.hpp"

#include "runtime/base/log.hpp"
#include "runtime/metric/sink/jsonl_sink.hpp"
#include "runtime/metric/sink/tensorboard_sink.hpp"

namespace d9d {
namespace {

// Scalars as lines of the log, one line per step; histograms are left out (TRACK-05, TRACK-07).
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

void LogRun::write(const Point& point, const TrackerValue& value) {
  if (const auto* text = std::get_if<TextRecord>(&value))
    log::info("step {}: {}: {}", point.step, flat_name(point), text->text);
  const auto* scalar = std::get_if<Scalar>(&value);
  if (scalar == nullptr || scalar->is_time) return;  // a line of the log has its time
  std::string& line = lines_[point.step];
  line += fmt::format("{}{} {:.6g}", line.empty() ? "" : ", ", flat_name(point), scalar->value);
}

void LogRun::end_step(std::int64_t step) {
  while (!lines_.empty() && lines_.begin()->first <= step) {
    log::info("step {}: {}", lines_.begin()->first, lines_.begin()->second);
    lines_.erase(lines_.begin());
  }
}

void LogRun::hparams(const nlohmann::json& hparams) {
  for (const auto& [name, value] : flat_hparams(hparams)) log::info("{} = {}", name, text_of(value));
}

void LogRun::flush() {
  if (!lines_.empty()) end_step(lines_.rbegin()->first);
}

// Accepts all values and does nothing.
class NullRun final : public TrackerRun {
 public:
  void write(const Point& /*point*/, const TrackerValue& /*value*/) override {}
  void end_step(std::int64_t /*step*/) override {}
  void hparams(const nlohmann::json& /*hparams*/) override {}
  void flush() override {}
  void close() override {}
};

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

std::unique_ptr<TrackerRun> open_tracker(const TrackerTarget& target, std::int64_t last_step,
                                         const Clock& clock) {
  using Run = std::unique_ptr<TrackerRun>;
  return std::visit(
      Overloaded{
          [](const NullTarget&) -> Run { return std::make_unique<NullRun>(); },
          [](const LogTarget&) -> Run { return std::make_unique<LogRun>(); },
          [&](const JsonlTarget& to) -> Run { return std::make_unique<JsonlRun>(to.path, last_step); },
          [&](const TensorboardTarget& to) -> Run {
            return std::make_unique<TensorboardRun>(TensorboardOptions{to.log_dir, to.host, last_step},
                                                    clock);
          },
          [](const BridgeOptions& to) -> Run { return std::make_unique<BridgeRun>(to); },
      },
      target);
}

}  // namespace d9d
