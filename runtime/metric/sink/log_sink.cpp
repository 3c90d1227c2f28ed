#include "runtime/metric/sink/log_sink.hpp"

#include "runtime/base/log.hpp"

namespace d9d {

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

}  // namespace d9d
