// What a StepLoop shows of its steps: numbers for the Tracker, what the task recorded, traces, events.
#include <numeric>
#include <utility>

#include "actors/loop/step_loop.hpp"
#include "actors/notes/recorded_value.hpp"
#include "messages/trace.capnp.h"

namespace d9d {

void StepLoop::report(const StepResult& result, double learning_rate) {
  const StepScale& scale = result.scale;
  const auto tokens = static_cast<std::uint64_t>(result.totals.tokens);
  const std::int64_t now = world().clock.now_ns();
  record_step(now);
  const double seconds = 1e-9 * static_cast<double>(now - step_begin_ns_);
  step_begin_ns_ = now;
  tokens_total_ += tokens;
  tell_records();
  if (options_.rank == 0) {
    tell<wire::StepFinished>({Role::tracker, 0}, [&](wire::StepFinished::Builder finished) {
      finished.setStep(current_);
      finished.setTotalSteps(options_.total_steps);
      finished.setLoss(scale.loss);
      finished.setGradNorm(scale.norm);
      finished.setLearningRate(learning_rate);
      finished.setTokens(tokens);
      finished.setFlops(result.totals.flops);
      finished.setStepSeconds(seconds);
      finished.setWallTime(1e-9 * static_cast<double>(world().clock.wall_ns()));
      finished.setNextSample(computed_.next_sample);
      finished.setTokensTotal(tokens_total_);
      finished.setMetricsFollow(options_.shown.metrics_due(current_));
      const auto skipped = skipped_updates();
      finished.setSkippedSteps(std::accumulate(skipped.begin(), skipped.end(), std::uint64_t{0}));
      finished.setInference(kind_.pass == PassKind::INFER);
    });
  }
  write_trace_when_due();
}

void StepLoop::tell_records() {
  for (const TaskRecord& record : options_.users.records->take()) {
    tell<wire::RecordValue>({Role::tracker, 0},
                            [&](wire::RecordValue::Builder value) { fill(value, record); });
  }
}

void StepLoop::record_step(std::int64_t now_ns) {
  if (world().recorder == nullptr) return;
  if (steps_track_ == 0) steps_track_ = world().recorder->actor(trace::steps_track, options_.rank);
  world().recorder->record({.start_ns = step_begin_ns_,
                            .end_ns = now_ns,
                            .actor = steps_track_,
                            .name = trace_name("step"),
                            .step = static_cast<std::int32_t>(current_),
                            .category = trace::Category::step});
}

void StepLoop::write_trace_when_due() {
  if (!options_.shown.trace_window || !options_.shown.trace_window->ends_with(current_)) return;
  for (int node = 0; node < options_.num_nodes; ++node) {
    tell<wire::FlushTrace>(
        {Role::trace_collector, static_cast<std::uint64_t>(node)}, [&](wire::FlushTrace::Builder flush) {
          flush.setLabel(fmt::format("step_{}", current_));
          flush.setNodes(static_cast<std::uint32_t>(options_.num_nodes));
          flush.setFromStep(static_cast<std::int32_t>(current_ - options_.shown.trace_window->active + 1));
        });
  }
}

void StepLoop::publish(std::string_view event, const std::string& context) {
  if (event.empty() || !listened_to_.maybe(event)) return;
  events_.push_back({std::string(event), current_, context});
  if (!applying_) tell_events();
}

// Events wait here until the EventBus has said which ones have listeners.
void StepLoop::tell_events() {
  if (!listened_to_.names) return;
  for (const Announcement& announced : std::exchange(events_, {})) {
    if (!listened_to_.maybe(announced.event)) continue;
    if (announced.event == events::StepPost::train || announced.event == events::EvaluationPost::train)
      ++actors_.told;
    tell<wire::Publish>({Role::event_bus, 0}, [&](wire::Publish::Builder publish) {
      publish.setName(announced.event);
      publish.setStep(announced.step);
      publish.setContext(announced.context);
      publish.setRank(static_cast<std::uint32_t>(options_.rank));
    });
  }
}

}  // namespace d9d
