#include "runtime/train/lr/phase_texts.hpp"

#include <fmt/format.h>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/count.hpp"

namespace d9d {

std::string text_of(const PiecewiseLr& lr) {
  std::string text;
  for (const LrPhase& phase : lr.phases()) {
    if (phase.end_step == phase.start_step) continue;
    const bool flat = phase.start_value == phase.end_value;
    const std::string_view curve = choices_of(config::Tag<LrCurve>{}).all[phase.curve.index()].name;
    text += fmt::format("{}{} until step {}", text.empty() ? "" : ", ",
                        flat ? fmt::format("{}", phase.end_value)
                             : fmt::format("{} to {} {}", phase.start_value, phase.end_value, curve),
                        phase.end_step);
  }
  return text;
}

std::optional<std::string> cut_phase(const PiecewiseLr& lr, std::int64_t total_steps) {
  for (std::size_t i = 0; i < lr.phases().size(); ++i) {
    const LrPhase& phase = lr.phases()[i];
    if (phase.end_step <= total_steps) continue;
    return fmt::format(
        "phase {} of the learning rate ends at step {}, beyond the {} of the job, which sees only "
        "the begin of it",
        i, phase.end_step, counted(total_steps, "step"));
  }
  return std::nullopt;
}

}  // namespace d9d
