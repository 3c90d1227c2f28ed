// What a RankExecutor does for schedule `auto`: it times actions and transfers for its StepPrograms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/rank_executor.hpp"
#include "messages/lists.hpp"
#include "runtime/base/error.hpp"
#include "tests/support/actor_world.hpp"
#include "tests/support/idle_rank_worker.hpp"

namespace d9d {
namespace {

using test::ActorWorld;
using test::IdleRankWorker;
using ::testing::ElementsAre;

constexpr ActorId executor_id{Role::rank_executor, 0};
constexpr ActorId trainer_id{Role::trainer, 0};

// One forward of stage 1. It does not wait for its input for more than five seconds.
class ImpatientCursor final : public ActionCursor {
 public:
  void start(std::shared_ptr<const PipelineProgram> /*program*/) override {
    asked_.reset();
    done_ = false;
  }
  std::optional<Instruction> advance(const Ready& ready, double now) override {
    if (!asked_) asked_ = now;
    if (done_ || (!ready(forward_) && now < *asked_ + 5)) return {};
    done_ = true;
    return Instruction{{forward_}};
  }
  std::optional<double> next_wakeup() const override {
    return done_ ? std::nullopt : std::optional(*asked_ + 5);
  }
  bool follow(const Instruction& /*instruction*/, const Ready& /*ready*/) override { return false; }
  bool done() const override { return done_; }

 private:
  const Action forward_ = parse_action("1F0");
  std::optional<double> asked_;
  bool done_ = true;
};

// The second rank of two under schedule `auto`; an action takes two seconds.
class TimedWorker final : public IdleRankWorker {
 public:
  explicit TimedWorker(test::VirtualClock& clock)
      : IdleRankWorker(std::make_unique<ImpatientCursor>(), nullptr), clock_(clock) {}
  void begin(const PassRequest& request) override {
    arrived_ = false;
    IdleRankWorker::begin(request);
  }
  void put(const StageTensor& tensor) override { arrived_ = arrived_ || !tensor.gradient; }
  std::vector<StageTensor> run(const Instruction& instruction) override {
    ran.push_back(to_string(instruction));
    clock_.now += 2'000'000'000;
    return {};
  }
  PassResult finish() override {
    PassResult result;
    result.totals.costs = programs_.finish_step();
    return result;
  }
  StepPrograms& programs() override { return programs_; }

  std::vector<std::string> ran;

 private:
  bool ready(const Action& /*action*/) const override { return arrived_; }
  test::VirtualClock& clock_;
  StepPrograms programs_{AutoSchedule{.num_stages_per_rank = 1, .measured_steps = 1}, 2};
  bool arrived_ = false;
};

class StageCosts : public ::testing::Test {
 protected:
  StageCosts() {
    RankExecutorOptions options;
    options.make_worker = [this](BucketObserver&, CommTracing) {
      auto made = std::make_unique<TimedWorker>(world.clock());
      worker = made.get();
      return made;
    };
    options.rank_of_stage = {1, 0};
    world.play<RankExecutor>(executor_id, options);
  }
  void begin(std::uint64_t step) {
    world.say<wire::BeginStep>(executor_id, [&](wire::BeginStep::Builder begin) {
      begin.setStep(step);
      begin.initMicrobatches(1);
    });
  }
  template <class T>
  void tensors(std::uint64_t step, int stage, std::int64_t produced_ns) {
    world.say<T>(executor_id, [&](typename T::Builder message) {
      message.setStep(step);
      message.setStage(static_cast<std::uint32_t>(stage));
      message.setProducedNs(produced_ns);
    });
  }
  // Step 1 only warms up; what step 2 measures is complete after it.
  void run_measured_steps() {
    begin(1);
    tensors<wire::ActivationReady>(1, 1, world.clock().now_ns());
    begin(2);
    const std::int64_t produced_ns = world.clock().now_ns();
    world.after(std::chrono::seconds(3));
    tensors<wire::GradientReady>(2, 0, produced_ns);
    tensors<wire::ActivationReady>(2, 1, produced_ns);
  }

  ActorWorld world;
  TimedWorker* worker = nullptr;
};

TEST_F(StageCosts, AreTimesOfActionsAndOfTransfersSinceTheirTensorsWereProduced) {
  run_measured_steps();

  // F, B, I and W of both stages, then activation and gradient between them.
  EXPECT_THAT(to_vector<double>(world.last<wire::StepComputed>(trainer_id)->getCosts()),
              ElementsAre(0, 0, 0, 0, 2, 0, 0, 0, 3, 3));
}

TEST_F(StageCosts, AWorkerThatHasWaitedLongEnoughIsAskedAgain) {
  begin(1);
  world.after(std::chrono::milliseconds(4999));
  EXPECT_THAT(worker->ran, ElementsAre());

  world.after(std::chrono::milliseconds(2));

  EXPECT_THAT(worker->ran, ElementsAre("1F0"));
}

TEST_F(StageCosts, ComeBackAsSumsOfAllRanksOnce) {
  run_measured_steps();
  EXPECT_THROW(worker->programs().get(2), Error) << "the other rank's costs are unknown";

  world.say<wire::ApplyStep>(executor_id, [](wire::ApplyStep::Builder apply) {
    apply.setStep(2);
    fill_list(apply.initCosts(10), std::vector<double>{1, 2, 1, 1, 2, 4, 2, 2, 3, 3});
  });
  world.say<wire::ApplyStep>(executor_id, [](wire::ApplyStep::Builder apply) { apply.setStep(3); });

  EXPECT_EQ(worker->programs().get(2)->num_microbatches, 2);
  EXPECT_NE(worker->programs().take_report().find("stage 1 F 2000.000 ms"), std::string::npos);
  EXPECT_TRUE(world.heard<wire::Failed>().empty()) << "only the first one has costs";
}

}  // namespace
}  // namespace d9d
