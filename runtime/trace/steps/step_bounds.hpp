#pragma once
// Recognises work between two steps: its spans carry the number of the step before. Evaluations and
// texts run there, through the same stages.

#include <cstdint>
#include <map>
#include <utility>

#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

class StepBounds {
 public:
  explicit StepBounds(const Recording& recording);

  // Whether the span is an action of a stage that began after its rank had ended the step. False if
  // the recording lacks the step's span.
  bool is_between_steps(const Span& span) const;

 private:
  const Recording& recording_;
  std::map<std::pair<int, int>, std::int64_t> ends_;  // by rank and step
};

}  // namespace d9d::trace
