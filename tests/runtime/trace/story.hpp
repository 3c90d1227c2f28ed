#pragma once
// What happened, told span by span.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

// Builds spans by hand; times in microseconds.
class Story {
 public:
  Story& on(std::string_view actor, int rank) {
    actor_ = names_.actor(actor, rank);
    return *this;
  }
  Story& span(Category category, std::string_view name, int from, int to, int step = -1) {
    recording_.spans.push_back({.start_ns = from * 1000,
                                .end_ns = to * 1000,
                                .actor = actor_,
                                .name = names_.intern(name),
                                .step = step,
                                .category = category});
    return *this;
  }
  Story& message(std::string_view name, int enqueued, int from, int to, std::uint64_t in = 0,
                 std::uint64_t out = 0) {
    span(Category::message, name, from, to);
    recording_.spans.back().enqueue_ns = enqueued * 1000;
    recording_.spans.back().flow_in = in;
    recording_.spans.back().flow_out = out;
    return *this;
  }
  // The last span sends: messages with this number are from it.
  Story& sends(std::uint64_t flow) {
    recording_.spans.back().flow_out = flow;
    return *this;
  }
  // The last span is what a span with this number gave or sent.
  Story& after(std::uint64_t flow) {
    recording_.spans.back().flow_in = flow;
    return *this;
  }
  Story& at(int stage, int microbatch) {
    recording_.spans.back().stage = static_cast<std::int16_t>(stage);
    recording_.spans.back().microbatch = static_cast<std::int16_t>(microbatch);
    return *this;
  }
  Story& of_bytes(std::uint64_t bytes) {
    recording_.spans.back().bytes = bytes;
    return *this;
  }
  // Sorted by start, as a recorder gives them.
  Recording tell() {
    std::stable_sort(recording_.spans.begin(), recording_.spans.end(),
                     [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
    recording_.names = names_.texts();
    recording_.actors = names_.actors();
    return recording_;
  }

 private:
  Names names_;
  std::uint32_t actor_ = 0;
  Recording recording_;
};

}  // namespace d9d::trace
