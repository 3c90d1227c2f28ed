#pragma once
// The two ways to record cheaply: a span for the length of a scope, and a cache of name ids for one owner.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "runtime/base/clock.hpp"
#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

// Records `span` with start and end taken from the clock. recorder == nullptr (or disabled at the start):
// nothing is recorded and the clock is not read. Other fields may be filled in until the scope ends.
class ScopedSpan {
 public:
  ScopedSpan(Recorder* recorder, const Clock& clock, const Span& span) : recorder_(recorder), clock_(clock) {
    if (recorder_ == nullptr) return;
    span_ = span;
    span_.start_ns = clock_.now_ns();
  }
  ~ScopedSpan() {
    if (recorder_ == nullptr) return;
    span_.end_ns = clock_.now_ns();
    recorder_->record(span_);
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

  bool on() const { return recorder_ != nullptr; }
  Span& span() { return span_; }

  // The flow id for messages sent inside this scope: drawn on first use, 0 when off.
  std::uint64_t flow() {
    if (recorder_ != nullptr && span_.flow_out == 0) span_.flow_out = recorder_->next_flow();
    return span_.flow_out;
  }

 private:
  Recorder* recorder_;
  const Clock& clock_;
  Span span_;
};

// Name -> id without the recorder's lock after the first time. One owner (an actor), one thread.
class NameCache {
 public:
  explicit NameCache(Recorder* recorder) : recorder_(recorder) {}

  // 0 when there is no recorder.
  std::uint32_t operator()(std::string_view text) {
    if (recorder_ == nullptr) return 0;
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    return ids_.emplace(text, recorder_->intern(text)).first->second;
  }

 private:
  Recorder* recorder_;
  std::map<std::string, std::uint32_t, std::less<>> ids_;
};

}  // namespace d9d::trace
