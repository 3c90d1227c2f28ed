// The stages of a rank, forward alone.
#include "runtime/rank/rank_evaluation.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>
#include <gtest/gtest.h>

#include "runtime/metric/aggregation.hpp"
#include "runtime/task/task.hpp"

namespace d9d {
namespace {

// Doubles what it is given.
class Doubling final : public StageModule {
 public:
  TensorMap forward(const TensorMap& inputs, const TensorMap& /*shared*/) override {
    had_gradients |= at::GradMode::is_enabled();
    return {{"x", at::mul(inputs.at("x"), 2)}};
  }
  std::vector<StageParameter> parameters() override { return {}; }
  void set_training(bool training) override { is_training = training; }

  bool had_gradients = false, is_training = true;
};

// The loss is the sum of x, the weight what the state says.
class SumTask final : public TrainTask {
 public:
  ForwardInputs build_forward_inputs(const MicrobatchContext& /*context*/) const override { return {}; }
  Loss compute_loss(const LossContext& context) const override {
    if (in_losses) context.metrics->get<Accumulator>("seen").update(10);
    return {at::sum(context.outputs.at("x")), context.state.at("weight").item().toDouble()};
  }
  void create_metrics(Compose& metrics) const override {
    metrics.add("seen", std::make_unique<Accumulator>(ReduceOp::sum));
  }
  void update_metrics(const LossContext& context, Compose& metrics) const override {
    EXPECT_EQ(context.metrics, &metrics);
    metrics.get<Accumulator>("seen").update(1);
  }
  bool in_losses = false;
};

class RankEvaluationTest : public ::testing::Test {
 protected:
  // Both stages of a pipeline of one rank.
  RankEvaluation make() {
    return RankEvaluation({.modules = {{0, first}, {1, last}},
                           .topology = Topology(TopologyKind::loop, 1, 2),
                           .task = task,
                           .counts_loss = counts_loss,
                           .table = &table});
  }
  static MicrobatchTensors microbatch(double value, double weight) {
    return {
        .inputs = {{"x", at::full({2}, value)}}, .shared = {}, .state = {{"weight", at::full({}, weight)}}};
  }
  // As a worker does, with both stages on this rank.
  static void run(RankEvaluation& evaluation) {
    while (const auto next = evaluation.order().next(0)) {
      for (const Action& action : next->instruction.parts) {
        const ActionResult result = evaluation.core(action.stage).run(action);
        if (result.activation)
          evaluation.core(action.stage + 1).put_activation(action.microbatch, result.activation);
      }
    }
  }

  TensorTable table{16};
  std::shared_ptr<Doubling> first = std::make_shared<Doubling>(), last = std::make_shared<Doubling>();
  std::shared_ptr<SumTask> task = std::make_shared<SumTask>();
  bool counts_loss = true;
};

TEST_F(RankEvaluationTest, SumsTheWeightedLossesOfTheLastStage) {
  RankEvaluation evaluation = make();
  evaluation.begin(7, {microbatch(1, 2), microbatch(3, 4)});
  run(evaluation);
  ASSERT_TRUE(evaluation.order().step_done());
  const StepTotals totals = evaluation.finish();

  EXPECT_DOUBLE_EQ(totals.loss_sum, 2 * 8 + 4 * 24);
  EXPECT_DOUBLE_EQ(totals.weight_sum, 6);
  EXPECT_EQ(evaluation.take_metrics(), std::vector<double>{2});
  EXPECT_EQ(evaluation.take_metrics(), std::vector<double>{0});
  EXPECT_FALSE(first->had_gradients || last->had_gradients);
  EXPECT_FALSE(first->is_training || last->is_training);
}

TEST_F(RankEvaluationTest, MetricsAreUpdatedInLossesAndCountWhereLossesDo) {
  task->in_losses = true;
  for (const bool counts : {true, false}) {
    counts_loss = counts;
    RankEvaluation evaluation = make();
    evaluation.metrics().merge(std::vector<double>{0.5});
    evaluation.begin(7, {microbatch(1, 2)});
    run(evaluation);
    evaluation.finish();

    EXPECT_EQ(evaluation.take_metrics(), std::vector<double>{counts ? 11.5 : 0.5});
  }
}

TEST_F(RankEvaluationTest, TakesAnyNumberOfMicrobatchesAndNoLossOfWeightZero) {
  RankEvaluation evaluation = make();
  for (const std::size_t count : {1, 3}) {
    evaluation.begin(7, std::vector<MicrobatchTensors>(count, microbatch(1, 0)));
    run(evaluation);
    EXPECT_DOUBLE_EQ(evaluation.finish().loss_sum, 0);
  }
}

TEST_F(RankEvaluationTest, LeavesCountingToAnotherRankThatHasTheSameSamples) {
  counts_loss = false;
  RankEvaluation evaluation = make();
  evaluation.begin(7, {microbatch(1, 2)});
  run(evaluation);

  EXPECT_DOUBLE_EQ(evaluation.finish().weight_sum, 0);
  EXPECT_EQ(evaluation.take_metrics(), std::vector<double>{0});
}

}  // namespace
}  // namespace d9d
