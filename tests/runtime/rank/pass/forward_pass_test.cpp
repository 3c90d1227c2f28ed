// The stages of a rank, forward alone.
#include "runtime/rank/pass/passes.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>
#include <gtest/gtest.h>

#include "runtime/metric/aggregation.hpp"
#include "runtime/rank/feed/microbatch_parcel.hpp"
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

class ForwardPassTest : public ::testing::Test {
 protected:
  // Both stages of a pipeline of one rank.
  std::unique_ptr<RankPass> make() {
    stages[0].module = first;
    stages[1].module = last;
    return make_samples_pass({.services = services,
                              .groups = groups,
                              .stages = stages,
                              .copies = copies,
                              .topology = Topology(TopologyKind::loop, 1, 2),
                              .counts_loss = counts_loss},
                             {task});
  }
  static MicrobatchTensors microbatch(double value, double weight) {
    return {
        .inputs = {{"x", at::full({2}, value)}}, .shared = {}, .state = {{"weight", at::full({}, weight)}}};
  }
  // `counted`: of each microbatch, by the Loader.
  StepTotals run(RankPass& pass, const std::vector<MicrobatchTensors>& microbatches,
                 const std::vector<double>& counted = {}) {
    PassRequest request{.step = 7};
    for (const MicrobatchTensors& given : microbatches)
      request.microbatches.push_back(table.put(std::make_unique<MicrobatchParcel>(given, counted)));
    pass.begin(request);
    while (const auto next = pass.order().next(0)) {
      EXPECT_TRUE(pass.run(next->instruction).empty()) << "both stages are here";
    }
    EXPECT_TRUE(pass.order().step_done());
    return pass.finish().totals;
  }

  TensorTable table{16};
  const RankServices services{.device = cpu_device(), .table = &table};
  const DeviceGroups groups;
  SnapshotCopies copies{cpu_device()};
  RankModel::Stages stages;
  std::shared_ptr<Doubling> first = std::make_shared<Doubling>(), last = std::make_shared<Doubling>();
  std::shared_ptr<SumTask> task = std::make_shared<SumTask>();
  bool counts_loss = true;
};

TEST_F(ForwardPassTest, SumsTheWeightedLossesOfTheLastStage) {
  const auto pass = make();
  const StepTotals totals = run(*pass, {microbatch(1, 2), microbatch(3, 4)});

  EXPECT_DOUBLE_EQ(totals.loss_sum, 2 * 8 + 4 * 24);
  EXPECT_DOUBLE_EQ(totals.weight_sum, 6);
  EXPECT_EQ(pass->take_metrics(), std::vector<double>{2});
  EXPECT_EQ(pass->take_metrics(), std::vector<double>{0});
  EXPECT_FALSE(first->had_gradients || last->had_gradients);
  EXPECT_FALSE(first->is_training || last->is_training);
}

TEST_F(ForwardPassTest, MetricsAreUpdatedInLossesAndCountWhereLossesDo) {
  task->in_losses = true;
  for (const bool counts : {true, false}) {
    counts_loss = counts;
    const auto pass = make();
    run(*pass, {microbatch(1, 2)}, {0.5});

    EXPECT_EQ(pass->take_metrics(), std::vector<double>{counts ? 11.5 : 0.5});
  }
}

TEST_F(ForwardPassTest, TakesAnyNumberOfMicrobatchesAndNoLossOfWeightZero) {
  const auto pass = make();
  for (const std::size_t count : {1, 3})
    EXPECT_DOUBLE_EQ(run(*pass, std::vector<MicrobatchTensors>(count, microbatch(1, 0))).loss_sum, 0);
}

TEST_F(ForwardPassTest, LeavesCountingToAnotherRankThatHasTheSameSamples) {
  counts_loss = false;
  const auto pass = make();

  EXPECT_DOUBLE_EQ(run(*pass, {microbatch(1, 2)}).weight_sum, 0);
  EXPECT_EQ(pass->take_metrics(), std::vector<double>{0});
}

}  // namespace
}  // namespace d9d
