// What a RankExecutor records of the communication inside its actions.
#include <gtest/gtest.h>

#include <algorithm>

#include "actors/rank_executor.hpp"
#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "tests/support/actor_world.hpp"
#include "tests/support/idle_rank_worker.hpp"

namespace d9d {
namespace {

using test::ActorWorld;
using test::IdleRankWorker;
using test::program_of;

constexpr ActorId executor_id{Role::rank_executor, 0};

// One action, 1F0, with a collective of a module inside.
class MeetingWorker final : public IdleRankWorker {
 public:
  explicit MeetingWorker(CommTracing tracing)
      : IdleRankWorker(make_cursor(CursorOrder::static_, 0), program_of("1F0")),
        tracing_(std::move(tracing)) {}
  std::vector<StageTensor> run(const Instruction& /*instruction*/) override {
    tracing_.stalls("meet", 0, [&] { tracing_.in_compute("all_reduce tp[0,1]", 64, [] {}); });
    return {};
  }

 private:
  const CommTracing tracing_;
};

trace::Span span_of(const trace::Recording& seen, const std::string& name, trace::Category category) {
  const auto found = std::find_if(seen.spans.begin(), seen.spans.end(), [&](const trace::Span& span) {
    return seen.names.at(span.name) == name && span.category == category;
  });
  if (found == seen.spans.end()) throw std::runtime_error("no span " + name);
  return *found;
}

TEST(StageTrace, ShowsCollectivesOfItsModulesOnTheTrackOfTheAction) {
  trace::Recorder recorder;
  ActorWorld world(0, &recorder);
  RankExecutorOptions options{
      .rank = 0,
      .make_worker = [](BucketObserver&,
                        CommTracing tracing) { return std::make_unique<MeetingWorker>(std::move(tracing)); },
      .rank_of_stage = {1, 0}};
  world.play<RankExecutor>(executor_id, options);
  world.say<wire::BeginStep>(executor_id, [](wire::BeginStep::Builder begin) { begin.setStep(4); });

  world.run();

  const trace::Recording seen = recorder.snapshot();
  const trace::Span inside = span_of(seen, "all_reduce tp[0,1]", trace::Category::collective);
  EXPECT_EQ(seen.actors.at(inside.actor).name, "compute stage 1");
  EXPECT_EQ(inside.actor, span_of(seen, "1F0", trace::Category::compute).actor);
  EXPECT_EQ(inside.bytes, 64U);
  EXPECT_EQ(inside.step, 4);
  const trace::Span wait = span_of(seen, "meet", trace::Category::stall);
  EXPECT_EQ(seen.actors.at(wait.actor).name, "compute waits");
}

// One action, 1F0, that its device has done when the step ends.
class LateWorker final : public IdleRankWorker {
 public:
  LateWorker() : IdleRankWorker(make_cursor(CursorOrder::static_, 0), program_of("1F0")) {}
  WorkLog* work_log() override { return &log_; }
  std::vector<StageTensor> run(const Instruction& /*instruction*/) override {
    WorkTimer timer(&log_, *device_, {.name = "1F0", .stage = 1, .microbatch = 0});
    timer.end();
    return {};
  }
  PassResult finish() override {
    device_->record().wait("the step's end");
    return {};
  }

 private:
  const std::shared_ptr<Device> device_ = delayed_device(2);
  WorkLog log_{true};
};

TEST(StageTrace, ShowsWhatADeviceDidOnATrackOfItsOwnWithAnArrowFromItsLaunch) {
  trace::Recorder recorder;
  ActorWorld world(0, &recorder);
  RankExecutorOptions options{
      .rank = 0,
      .make_worker = [](BucketObserver&, CommTracing) { return std::make_unique<LateWorker>(); },
      .rank_of_stage = {1, 0}};
  world.play<RankExecutor>(executor_id, options);
  world.say<wire::BeginStep>(executor_id, [](wire::BeginStep::Builder begin) { begin.setStep(4); });

  world.run();

  const trace::Recording seen = recorder.snapshot();
  const trace::Span launch = span_of(seen, "1F0", trace::Category::launch),
                    done = span_of(seen, "1F0", trace::Category::compute);
  EXPECT_EQ(seen.actors.at(launch.actor).name, "compute stage 1");
  EXPECT_EQ(seen.actors.at(done.actor).name, "device compute");
  EXPECT_EQ(done.stage, 1);
  EXPECT_EQ(done.step, 4);
  EXPECT_NE(launch.flow_out, 0U);
  EXPECT_EQ(done.flow_in, launch.flow_out);
}

}  // namespace
}  // namespace d9d
