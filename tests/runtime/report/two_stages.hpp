#pragma once
// The trace of a run with two pipeline stages.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "runtime/trace/file/chrome_writer.hpp"
#include "runtime/trace/record/names.hpp"
#include "runtime/trace/record/recorder.hpp"

namespace d9d::test {

// Steps of 24 ms on two ranks: the pipeline takes 24 ms with a bubble of 41.7 %, a message waits 3 ms in a mailbox.
class TwoStages {
 public:
  TwoStages& step(int number, double begin_ms) {
    const auto action = [&](int stage, const char* name, double from, double to) {
      on(fmt::format("compute stage {}", stage), stage);
      add(trace::Category::compute, name, begin_ms + from, begin_ms + to, number).stage =
          static_cast<std::int16_t>(stage);
    };
    for (const int rank : {0, 1}) {
      on(std::string(trace::steps_track), rank);
      add(trace::Category::step, "step", begin_ms, begin_ms + 24, number);
    }
    action(0, "0F0", 0, 2), action(0, "0F1", 2, 4), action(1, "1F0", 3, 6), action(1, "1B0", 6, 11);
    action(0, "0B0", 12, 16), action(1, "1F1", 11, 14), action(1, "1B1", 14, 19), action(0, "0B1", 20, 24);
    on("trainer", 0);
    trace::Span& sent = add(trace::Category::message, "batch_ready", begin_ms, begin_ms + 0.5, number);
    sent.flow_out = static_cast<std::uint64_t>(number) + 100;
    on("rank_executor", 0);
    trace::Span& handled = add(trace::Category::message, "begin_step", begin_ms + 3.5, begin_ms + 4, number);
    handled.enqueue_ns = nanoseconds(begin_ms + 0.5);
    handled.flow_in = static_cast<std::uint64_t>(number) + 100;
    return *this;
  }
  trace::Recording recording() {
    trace::Recording all = recording_;
    std::stable_sort(all.spans.begin(), all.spans.end(),
                     [](const trace::Span& a, const trace::Span& b) { return a.start_ns < b.start_ns; });
    all.names = names_.texts();
    all.actors = names_.actors();
    return all;
  }
  void write(const std::filesystem::path& file) {
    std::filesystem::create_directories(file.parent_path());
    trace::ChromeWriter writer(file, {.job = "j"});
    writer.add(recording());
    writer.finish();
  }

 private:
  static std::int64_t nanoseconds(double ms) { return 1'000'000'000 + static_cast<std::int64_t>(1e6 * ms); }
  void on(const std::string& track, int rank) { actor_ = names_.actor(track, rank); }
  trace::Span& add(trace::Category category, const char* name, double from, double to, int step) {
    recording_.spans.push_back({.start_ns = nanoseconds(from),
                                .end_ns = nanoseconds(to),
                                .actor = actor_,
                                .name = names_.intern(name),
                                .step = step,
                                .category = category});
    return recording_.spans.back();
  }

  trace::Names names_;
  trace::Recording recording_;
  std::uint32_t actor_ = 0;
};

}  // namespace d9d::test
