// Spans of a rank's communicators in its trace.
#include <thread>

#include "actors/rank_executor.hpp"
#include "runtime/trace/record/scoped_span.hpp"

namespace d9d {

CommTracing RankExecutor::comm_tracing() {
  trace::Recorder* const recorder = world().recorder;
  if (recorder == nullptr) return {};
  const auto around = [&](const std::string& track, trace::Category category) -> TraceHook {
    return [this, recorder, actor = recorder->actor(track, options_.rank), category](
               const std::string& name, std::uint64_t bytes, const std::function<void()>& work) {
      const trace::ScopedSpan span(recorder, world().clock,
                                   {.bytes = bytes,
                                    .actor = actor,
                                    .name = recorder->intern(name),
                                    .step = traced_step(),
                                    .category = device_->category_of(category)});
      work();
    };
  };
  CommTracing tracing{.background = around("communication lane", trace::Category::collective),
                      .stalls = around("compute waits", trace::Category::stall)};
  // On the track of the stage that runs. Work of a second lane at the same time has its own track.
  running_track_ = recorder->actor("compute waits", options_.rank);
  tracing.in_compute = [this, recorder, second = recorder->actor("compute lane 1", options_.rank),
                        mine = std::this_thread::get_id()](const std::string& name, std::uint64_t bytes,
                                                           const std::function<void()>& work) {
    const trace::ScopedSpan span(recorder, world().clock,
                                 {.bytes = bytes,
                                  .actor = std::this_thread::get_id() == mine ? running_track_ : second,
                                  .name = recorder->intern(name),
                                  .step = traced_step(),
                                  .category = device_->category_of(trace::Category::collective)});
    work();
  };
  return tracing;
}

}  // namespace d9d
