// What a RankExecutor does for schedule `auto`: it times, and passes on what its worker made of the times.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/rank_executor.hpp"
#include "messages/lists.hpp"
#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using testing::ActorWorld;
using ::testing::ElementsAre;

constexpr ActorId kExecutor{Role::rank_executor, 0};
constexpr ActorId kTrainer{Role::trainer, 0};

// Runs one forward of stage 1 when its activation is there.
class TimedWorker final : public StageWorker {
 public:
  TimedWorker(std::vector<std::string>& heard, std::vector<double> costs)
      : heard_(heard), costs_(std::move(costs)) {}
  void prepare() override {}
  std::uint64_t entries_loaded() const override { return 0; }
  void set_on_bucket_complete(std::function<void(int)> /*callback*/) override {}
  std::vector<int> bucket_groups() const override { return {}; }
  void begin_step(std::uint64_t /*step*/, const std::vector<Ticket>& /*microbatches*/) override {}
  void put_activation(int /*stage*/, int /*microbatch*/, Ticket /*ticket*/) override { ready_ = true; }
  void put_gradient(int /*stage*/, int /*microbatch*/, Ticket /*ticket*/) override {}
  // Does not wait for its input for more than five seconds.
  std::optional<Instruction> next(double now) override {
    if (!asked_) asked_ = now;
    const bool runs = !done_ && (ready_ || now >= *asked_ + 5);
    return runs ? std::optional(parse_instruction("1F0")) : std::nullopt;
  }
  std::optional<double> look_again() const override {
    return done_ ? std::nullopt : std::optional(*asked_ + 5);
  }
  bool follow(const Instruction& /*chosen*/) override { return false; }
  ActionReport run(const Instruction& /*instruction*/) override {
    done_ = true;
    return {};
  }
  bool step_done() const override { return done_; }
  StepTotals finish_step() override {
    StepTotals totals;
    totals.costs = costs_;
    return totals;
  }
  void apply(double /*scale*/, double /*lr*/) override { heard_.push_back("apply"); }
  std::vector<double> take_metrics() override { return {}; }
  std::string metric_state() const override { return {}; }
  Ticket snapshot() override { return {}; }
  void ran(const Instruction& instruction, double seconds) override {
    heard_.push_back(fmt::format("{} took {:.0f}", to_string(instruction), seconds));
  }
  void arrived(bool gradient, int stage, double seconds) override {
    heard_.push_back(
        fmt::format("{} of stage {} took {:.0f}", gradient ? "gradient" : "activation", stage, seconds));
  }
  void agree(const std::vector<double>& costs) override {
    heard_.push_back(fmt::format("costs {}", fmt::join(costs, " ")));
  }

 private:
  std::vector<std::string>& heard_;
  const std::vector<double> costs_;
  bool ready_ = false;
  std::optional<double> asked_;
  bool done_ = false;
};

class StageCosts : public ::testing::Test {
 protected:
  StageCosts() {
    RankExecutorOptions options;
    options.make_worker = [this] {
      return std::make_unique<TimedWorker>(heard, std::vector<double>{1.5, 0, 2});
    };
    options.rank_of_stage = {1, 0};
    world.play<RankExecutor>(kExecutor, options);
    world.say<wire::BeginStep>(kExecutor, [](wire::BeginStep::Builder begin) {
      begin.setStep(1);
      begin.initMicrobatches(1);
    });
  }
  template <class T>
  void tensors(int stage) {
    world.say<T>(kExecutor, [&](typename T::Builder message) {
      message.setStep(1);
      message.setStage(static_cast<std::uint32_t>(stage));
      message.setProducedNs(produced_ns);
    });
  }

  std::vector<std::string> heard;
  ActorWorld world;
  std::int64_t produced_ns = world.clock().now_ns();
};

TEST_F(StageCosts, TimesActionsAndTransfersSinceTheirTensorsWereProduced) {
  world.after(std::chrono::seconds(3));

  tensors<wire::GradientReady>(0);
  tensors<wire::ActivationReady>(1);

  EXPECT_THAT(heard, ElementsAre("gradient of stage 0 took 3", "activation of stage 1 took 3", "1F0 took 0"));
}

TEST_F(StageCosts, AWorkerThatHasWaitedLongEnoughIsAskedAgain) {
  world.after(std::chrono::milliseconds(4999));
  EXPECT_THAT(heard, ElementsAre());

  world.after(std::chrono::milliseconds(2));

  EXPECT_THAT(heard, ElementsAre("1F0 took 0"));
}

TEST_F(StageCosts, GoToTheTrainerAndComeBackAsSumsOfAllRanks) {
  tensors<wire::ActivationReady>(1);
  EXPECT_THAT(to_vector<double>(world.last<wire::StepComputed>(kTrainer)->getCosts()),
              ElementsAre(1.5, 0, 2));
  heard.clear();

  world.say<wire::ApplyStep>(kExecutor, [](wire::ApplyStep::Builder apply) {
    apply.setStep(1);
    fill_list(apply.initCosts(3), std::vector<double>{3, 1, 4});
  });
  world.say<wire::ApplyStep>(kExecutor, [](wire::ApplyStep::Builder apply) { apply.setStep(2); });

  EXPECT_THAT(heard, ElementsAre("apply", "costs 3 1 4", "apply"));
}

}  // namespace
}  // namespace d9d
