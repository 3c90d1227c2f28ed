#include "runtime/rank/pass/phase_losses.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <stdexcept>

#include "runtime/metric/aggregation.hpp"
#include "runtime/task/task.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum PhaseKind;

at::Tensor number(double value) {
  return at::full({}, value, at::kDouble);
}

// The loss is the output, and what was carried for the microbatch before it.
struct AddingTask : TrainTask {
  ForwardInputs build_forward_inputs(const MicrobatchContext&) const override { return {}; }
  Loss compute_loss(const LossContext& context) const override {
    seen.push_back(context.phase * 10 + context.microbatch);
    if (counts) context.metrics->get<Accumulator>("computed").update(1);
    at::Tensor loss = context.outputs.at("out");
    for (const TensorMap& carried : context.carried) loss = loss + carried.at("kept");
    return {loss, 2};
  }
  void create_metrics(Compose& metrics) const override {
    for (const char* name : {"computed", "carried"})
      metrics.add(name, std::make_unique<Accumulator>(ReduceOp::sum));
  }
  bool counts = false;
  mutable std::vector<int> seen;
};
struct CarryingTask final : AddingTask {
  void carry(const LossContext& context, TensorMap& carried) const override {
    carried["kept"] = context.outputs.at("out") * 2;
    if (counts) context.metrics->get<Accumulator>("carried").update(1);
  }
};

struct PhaseLossesTest : ::testing::Test {
  PhaseLosses losses(std::vector<StepPhase> list, const std::shared_ptr<TrainTask>& task,
                     std::vector<StepUpdate> updates = {}) {
    const StepPhases phases(std::move(list), std::move(updates));
    declare_phase_losses(phases, metrics);
    return PhaseLosses({task, phases, true, &metrics});
  }
  double compute(PhaseLosses& losses, int microbatch, double output) {
    return losses.compute({7, microbatch, {{"out", number(output)}}, {}}).loss.item<double>();
  }
  double mean(const std::string& phase) {
    return metrics.get<WeightedMean>("loss_of/" + phase).compute().front().second;
  }

  Compose metrics;
  std::shared_ptr<CarryingTask> task = std::make_shared<CarryingTask>();
};

TEST_F(PhaseLossesTest, TellTheTaskPhaseAndMicrobatchAndCountEachLoss) {
  PhaseLosses two = losses({{"a", train, 0}, {"b", train, 1}}, task);
  std::vector<MicrobatchTensors> microbatches(4);

  EXPECT_EQ(two.begin(0, microbatches), 0);
  for (int i = 0; i < 4; ++i) compute(two, i, i);

  EXPECT_THAT(task->seen, ElementsAre(0, 1, 10, 11));
  EXPECT_EQ(mean("a"), 0.5);
  EXPECT_EQ(mean("b"), 2.5);
}

TEST_F(PhaseLossesTest, GiveTheTaskItsMetricsInLossesAndBetweenPhases) {
  task->counts = true;
  task->create_metrics(metrics);
  PhaseLosses both = losses({{"look", forward, 0}, {"learn", train, 0}}, task);
  std::vector<MicrobatchTensors> microbatches(4);
  both.begin(0, microbatches);

  for (int i : {0, 1}) both.carry({7, i, {{"out", number(i)}}, {}});
  compute(both, 2, 1);

  EXPECT_EQ(metrics.get<Accumulator>("carried").compute().front().second, 2);
  EXPECT_EQ(metrics.get<Accumulator>("computed").compute().front().second, 1);
}

TEST_F(PhaseLossesTest, KeepWhatIsCarriedForLaterPhasesOfItsBatch) {
  PhaseLosses three = losses({{"look", forward, 0}, {"a", train, 0}, {"b", train, 1}}, task);
  std::vector<MicrobatchTensors> microbatches(6);

  EXPECT_EQ(three.begin(0, microbatches), 2);
  EXPECT_TRUE(microbatches[1].forward_only);
  EXPECT_FALSE(microbatches[2].forward_only);
  for (const int i : {0, 1}) three.carry({7, i, {{"out", number(10 + i).requires_grad_(true)}}, {}});

  EXPECT_EQ(compute(three, 2, 1), 1 + 20 + 22) << "of all microbatches";
  three.end();
  three.begin(0, microbatches);
  EXPECT_THROW(compute(three, 2, 1), std::out_of_range) << "nothing of the step before";
}

TEST_F(PhaseLossesTest, KeepWhatIsCarriedForLaterUpdatesOfTheStep) {
  PhaseLosses loop =
      losses({{"look", forward, 0, 0}, {"first", train, 0, 0}, {"again", train, 0, 1}}, task, {{}, {}});
  std::vector<MicrobatchTensors> two(2), one(1);
  loop.begin(0, two);
  loop.carry({7, 0, {{"out", number(5)}}, {}});
  EXPECT_EQ(compute(loop, 1, 1), 1 + 10);
  loop.end();

  EXPECT_EQ(loop.begin(1, one), 0) << "nothing of this update is forward alone";
  EXPECT_EQ(compute(loop, 0, 2), 2 + 10) << "what was carried before the first update";
  loop.end();

  EXPECT_THAT(task->seen, ElementsAre(10, 20)) << "phase and microbatch";
  loop.begin(1, one);
  EXPECT_EQ(compute(loop, 0, 2), 2) << "nothing of the step before";
}

TEST_F(PhaseLossesTest, AskForCarryWhereAPhaseIsForwardAlone) {
  const auto plain = std::make_shared<AddingTask>();
  PhaseLosses two = losses({{"look", forward, 0}, {"a", train, 0}}, plain);
  std::vector<MicrobatchTensors> microbatches(2);
  two.begin(0, microbatches);

  EXPECT_THAT(test::error_of([&] { two.carry({7, 0, {}, {}}); }), HasSubstr("has no carry()"));
}

struct FailingTask final : AddingTask {
  Loss compute_loss(const LossContext& context) const override {
    if (context.microbatch == 1) throw std::runtime_error("no progress");
    return AddingTask::compute_loss(context);
  }
  void update_metrics(const LossContext&, Compose&) const override {
    ++updates;
    throw std::runtime_error("quota");
  }
  mutable int updates = 0;
};

TEST_F(PhaseLossesTest, NameThePluginsTaskThatThrowsInItsLoss) {
  const auto failing = std::make_shared<FailingTask>();
  PhaseLosses named({failing, StepPhases(), true, &metrics, cpu_device(), "mine"});
  std::vector<MicrobatchTensors> microbatches(2);
  named.begin(0, microbatches);

  EXPECT_THAT(test::error_of([&] { compute(named, 1, 1); }),
              HasSubstr("compute_loss of the task \"mine\" threw: no progress"));
}

// Numbers for people: training goes on.
TEST_F(PhaseLossesTest, LeaveOutTheMetricsOfAPluginsTaskThatThrowsInThem) {
  const auto failing = std::make_shared<FailingTask>();
  PhaseLosses named({failing, StepPhases(), true, &metrics, cpu_device(), "mine"});
  std::vector<MicrobatchTensors> microbatches(2);
  named.begin(0, microbatches);

  EXPECT_EQ(compute(named, 0, 3), 3);
  EXPECT_EQ(compute(named, 0, 4), 4);
  EXPECT_EQ(failing->updates, 1);
}

}  // namespace
}  // namespace d9d
