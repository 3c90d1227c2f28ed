// What a RankExecutor records of the communication inside its actions.
#include <gtest/gtest.h>

#include <algorithm>

#include "actors/rank_executor.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using testing::ActorWorld;

constexpr ActorId kExecutor{Role::rank_executor, 0};

// One action, 1F0, with a collective of a module inside.
class MeetingWorker final : public StageWorker {
 public:
  void set_tracing(CommTracing tracing) override { tracing_ = std::move(tracing); }
  void prepare() override {}
  std::uint64_t entries_loaded() const override { return 0; }
  void set_on_bucket_complete(std::function<void(int)> /*callback*/) override {}
  std::vector<int> bucket_groups() const override { return {}; }
  void begin_step(std::uint64_t /*step*/, const std::vector<Ticket>& /*microbatches*/) override {}
  void put_activation(int /*stage*/, int /*microbatch*/, Ticket /*ticket*/) override {}
  void put_gradient(int /*stage*/, int /*microbatch*/, Ticket /*ticket*/) override {}
  std::optional<Instruction> next(double /*now*/) override {
    if (ran_) return {};
    return parse_instruction("1F0");
  }
  bool follow(const Instruction& /*chosen*/) override { return false; }
  ActionReport run(const Instruction& /*instruction*/) override {
    ran_ = true;
    tracing_.stalls("meet", 0, [&] { tracing_.in_compute("all_reduce tp[0,1]", 64, [] {}); });
    return {};
  }
  bool step_done() const override { return ran_; }
  StepTotals finish_step() override { return {}; }
  void apply(double /*scale*/, double /*lr*/) override {}
  std::vector<double> take_metrics() override { return {}; }
  std::string metric_state() const override { return {}; }
  Ticket snapshot() override { return {}; }

 private:
  CommTracing tracing_;
  bool ran_ = false;
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
      .rank = 0, .make_worker = [] { return std::make_unique<MeetingWorker>(); }, .rank_of_stage = {1, 0}};
  world.play<RankExecutor>(kExecutor, options);
  world.say<wire::BeginStep>(kExecutor, [](wire::BeginStep::Builder begin) { begin.setStep(4); });

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

}  // namespace
}  // namespace d9d
