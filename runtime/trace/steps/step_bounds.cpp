#include "runtime/trace/steps/step_bounds.hpp"

#include <algorithm>

namespace d9d::trace {

StepBounds::StepBounds(const Recording& recording) : recording_(recording) {
  for (const Span& span : recording.spans) {
    if (span.category != Category::step) continue;
    auto& end =
        ends_.try_emplace({recording.actors.at(span.actor).rank, span.step}, span.end_ns).first->second;
    end = std::max(end, span.end_ns);
  }
}

bool StepBounds::is_between_steps(const Span& span) const {
  if (span.stage < 0) return false;
  const auto end = ends_.find({recording_.actors.at(span.actor).rank, span.step});
  return end != ends_.end() && span.start_ns >= end->second;
}

}  // namespace d9d::trace
