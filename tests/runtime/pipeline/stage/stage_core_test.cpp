#include "runtime/pipeline/stage/stage_core.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "kernels/graph/weight_work.hpp"
#include "runtime/base/error.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/runtime/pipeline/program_text.hpp"
#include "tests/runtime/pipeline/toy_stages.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using test::ToyResult;
using test::ToyStage;
using test::ToyWorld;
using ::testing::UnorderedElementsAre;

class StageCoreTest : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

struct Case {
  ScheduleConfig schedule;
  int ranks;
};

AutoSchedule searched(int stages_per_rank, TopologyKind topology) {
  AutoSchedule schedule;
  schedule.num_stages_per_rank = stages_per_rank;
  schedule.topology = topology;
  return schedule;
}

// Every schedule on 1 to 4 ranks.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const int ranks : {1, 2, 3, 4}) {
    cases.push_back({GpipeSchedule{}, ranks});
    cases.push_back({OneFOneBSchedule{}, ranks});
    cases.push_back({OneFOneBSchedule{1, false, Warmup::deep}, ranks});
    cases.push_back({OneFOneBSchedule{1, true}, ranks});
  }
  cases.push_back({searched(1, TopologyKind::loop), 3});
  cases.push_back({searched(2, TopologyKind::v), 2});
  for (const int ranks : {1, 2, 3, 4}) {
    cases.push_back({LoopedBfsSchedule{2}, ranks});
    cases.push_back({OneFOneBSchedule{2}, ranks});
    cases.push_back({OneFOneBSchedule{2, true}, ranks});
    cases.push_back({ZeroBubbleVSchedule{}, ranks});
    cases.push_back({DualPipeVSchedule{}, ranks});
  }
  return cases;
}

std::string describe(const Case& c, int microbatches) {
  return fmt::format("{} v={} p={} n={}", name_of(c.schedule), stages_per_rank(c.schedule), c.ranks,
                     microbatches);
}

void expect_same(const ToyResult& got, const ToyResult& expected) {
  EXPECT_EQ(got.loss_sum, expected.loss_sum);  // to the last bit: same operations, same order
  EXPECT_EQ(got.weight_sum, expected.weight_sum);
  ASSERT_EQ(got.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    EXPECT_LT((got.gradients.at(name) - gradient).abs().max().item<double>(), 1e-13) << name;
  }
}

// One stage alone, its neighbours played by the test.
struct Lone {
  explicit Lone(int stage, int num_stages, test::ToyOptions toy = {})
      : module(std::make_shared<ToyStage>(stage, num_stages, toy)) {
    StageCoreOptions options;
    options.module = module;
    options.stage = stage;
    options.num_stages = num_stages;
    options.compute_loss = [this](const LastStageOutputs& outputs) { return loss(outputs); };
    core = std::make_unique<StageCore>(std::move(options), table);
  }

  ActionResult run(const char* action) { return core->run(parse_action(action)); }
  void activation(int microbatch, bool requires_grad = true) {
    at::Tensor hidden = at::zeros({1, test::toy_width}, at::kDouble) + 0.5;
    hidden[0][0] = 2;
    core->put_activation(microbatch, put({{"hidden", hidden.requires_grad_(requires_grad)}}));
  }
  void gradient(int microbatch) {
    core->put_gradient(microbatch, put({{"hidden", at::zeros({1, test::toy_width}, at::kDouble) + 1}}));
  }
  Ticket put(TensorMap tensors) { return table.put(std::make_unique<TensorParcel>(std::move(tensors))); }
  TensorMap take(Ticket ticket) { return table.take_as<TensorParcel>(ticket)->tensors; }
  bool has_gradient(const char* name) const { return module->gradient(name).abs().sum().item<double>() > 0; }

  TensorTable table{64};
  std::shared_ptr<ToyStage> module;
  std::function<StageLoss(const LastStageOutputs&)> loss = test::toy_loss;
  std::unique_ptr<StageCore> core;
};

TEST_F(StageCoreTest, GivesTheGradientsOfASequentialLoopUnderEverySchedule) {
  for (const Case& c : all_cases()) {
    for (const int microbatches : {1, 2, 4, 8, 16}) {
      if (!serves(c.schedule, c.ranks, microbatches)) continue;
      SCOPED_TRACE(describe(c, microbatches));
      ToyWorld world(c.schedule, c.ranks, static_cast<std::uint64_t>(microbatches));

      world.run_step(microbatches);

      expect_same(world.result(), test::toy_sequential(world.program().topology.num_stages(), microbatches));
      EXPECT_EQ(world.tickets_in_use(), 0U);
      for (int rank = 0; rank < c.ranks; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        EXPECT_EQ(world.history()[at], test::text_of(world.program().compute[at]));
      }
    }
  }
}

TEST_F(StageCoreTest, GivesTheSameBitsWhateverTheOrderOfMessages) {
  ToyWorld first(ZeroBubbleVSchedule{}, 2, 1);
  first.run_step(4);
  for (const std::uint64_t seed : {2, 3, 4}) {
    ToyWorld other(ZeroBubbleVSchedule{}, 2, seed);

    other.run_step(4);

    for (const auto& [name, gradient] : first.result().gradients) {
      EXPECT_TRUE(gradient.equal(other.result().gradients.at(name))) << name;
    }
  }
}

// Messages in any order, ranks at any pace.
TEST_F(StageCoreTest, GivesTheSameBitsUnderTheDynamicOrder) {
  for (const Case& c : all_cases()) {
    if (!serves(c.schedule, c.ranks, 8)) continue;
    SCOPED_TRACE(describe(c, 8));
    ToyWorld fixed(c.schedule, c.ranks, 1);
    fixed.run_step(8);
    ToyWorld dynamic(c.schedule, c.ranks, 2, true, CursorOrder::dynamic);

    dynamic.run_step(8);

    EXPECT_EQ(dynamic.result().loss_sum, fixed.result().loss_sum);
    for (const auto& [name, gradient] : fixed.result().gradients) {
      EXPECT_TRUE(gradient.equal(dynamic.result().gradients.at(name))) << name;
    }
    EXPECT_EQ(dynamic.tickets_in_use(), 0U);
  }
}

TEST_F(StageCoreTest, AddsGradientsOverStepsOfDifferentSizes) {
  ToyWorld world(OneFOneBSchedule{1, true}, 2, 5);

  world.run_step(2);
  world.run_step(4);

  ToyResult expected = test::toy_sequential(2, 2);
  const ToyResult second = test::toy_sequential(2, 4);
  for (auto& [name, gradient] : expected.gradients) gradient = gradient + second.gradients.at(name);
  expected.loss_sum = second.loss_sum;
  expected.weight_sum = second.weight_sum;
  expect_same(world.result(), expected);
}

// W-08, W-09: also the parameters that got no gradient, or only sometimes.
TEST_F(StageCoreTest, CompletesEveryTrainableParameterOnceBehindItsLastAddition) {
  for (const Case& c : all_cases()) {
    if (!serves(c.schedule, c.ranks, 4)) continue;
    SCOPED_TRACE(describe(c, 4));
    ToyWorld world(c.schedule, c.ranks, 9);

    world.run_step(4);

    std::set<std::string> names;
    for (const auto& [name, gradient] : world.completed()) {
      EXPECT_TRUE(names.insert(name).second) << name << " twice";
      EXPECT_TRUE(gradient.equal(world.result().gradients.at(name))) << name << " grew after it was complete";
    }
    EXPECT_EQ(names.size(), world.result().gradients.size());
  }
}

TEST_F(StageCoreTest, CompletesParametersAlreadyDuringTheLastFullBackward) {
  ToyWorld world(GpipeSchedule{}, 1, 1);

  world.run_step(2);

  std::vector<std::string> names;
  for (const auto& [name, gradient] : world.completed()) names.push_back(name);
  // Backward order; microbatch 0 comes last in gpipe and does not use `sometimes`.
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.shift", "0.scale", "0.sometimes", "0.unused"}));
}

TEST_F(StageCoreTest, TellsOfEveryMicrobatchWhenAskedTo) {
  struct Heard final : GradientObserver {
    void gradient_complete(int /*stage*/, std::size_t parameter, bool last) override {
      (last ? of_step : of_microbatch).push_back(parameter);
    }
    std::vector<std::size_t> of_microbatch, of_step;
  } heard;
  TensorTable table(8);
  StageCore core({.module = std::make_shared<ToyStage>(0, 1),
                  .compute_loss = test::toy_loss,
                  .observer = &heard,
                  .each_microbatch = true},
                 table);

  core.begin_step(1, test::toy_microbatches(2));
  for (const char* action : {"0F0", "0B0", "0F1", "0B1"}) core.run(parse_action(action));

  // All but `frozen`, which is number 3.
  EXPECT_THAT(heard.of_microbatch, UnorderedElementsAre(0, 1, 2, 4, 5));
  EXPECT_THAT(heard.of_step, UnorderedElementsAre(0, 1, 2, 4, 5));
}

TEST_F(StageCoreTest, IgnoresABackwardBetweenSteps) {
  Lone only(0, 1);
  only.core->begin_step(1, test::toy_microbatches(1));
  only.run("0F0");
  only.run("0B0");
  only.core->finish_step();
  const auto given = test::toy_microbatches(1)[0];

  const auto outputs = only.module->forward(given.inputs, given.shared);

  EXPECT_NO_THROW(test::toy_loss({1, 0, outputs, given.state}).loss.backward());
}

TEST_F(StageCoreTest, RunsWithoutAGraphWhenItDoesNotTrain) {
  ToyWorld world(InferenceSchedule{}, 2, 3, false);

  world.run_step(4);

  ASSERT_EQ(world.consumed().size(), 4U);
  EXPECT_EQ(world.consumed().at(2), (std::vector<std::int64_t>{3, test::toy_width}));
  EXPECT_TRUE(world.completed().empty());
}

// PIPE-31.
TEST_F(StageCoreTest, LeavesWeightsOfOurOpsAndOfTorchsToW) {
  Lone middle(1, 3);
  middle.core->begin_step(1, test::toy_microbatches(1));
  middle.activation(0);
  middle.run("1F0");
  middle.gradient(0);

  const ActionResult input = middle.run("1I0");

  EXPECT_TRUE(input.gradient);
  EXPECT_FALSE(middle.has_gradient("scale"));
  EXPECT_FALSE(middle.has_gradient("weight"));
  middle.run("1W0");
  EXPECT_TRUE(middle.has_gradient("scale"));
  EXPECT_TRUE(middle.has_gradient("weight"));
  EXPECT_TRUE(middle.core->step_done());
}

// The jobs hold the graph and the graph holds them.
TEST_F(StageCoreTest, DropsTheWeightWorkOfAStepAbandonedBetweenIAndW) {
  c10::intrusive_ptr<kernels::WeightWork> work;
  Lone last(2, 3);
  last.loss = [&](const LastStageOutputs& outputs) {
    work = kernels::WeightWork::current();
    return test::toy_loss(outputs);
  };
  last.core->begin_step(1, test::toy_microbatches(1));
  last.activation(0);
  last.run("2F0");
  last.run("2I0");
  ASSERT_GT(work->pending(), 0U);

  last.core.reset();

  EXPECT_EQ(work->pending(), 0U);
}

// PIPE-32.
TEST_F(StageCoreTest, DefersTheWholeBackwardOfTheFirstStageToW) {
  Lone first(0, 2);
  first.core->begin_step(1, test::toy_microbatches(1));
  first.run("0F0");
  first.gradient(0);

  const ActionResult input = first.run("0I0");

  EXPECT_FALSE(input.gradient);
  EXPECT_FALSE(first.has_gradient("scale"));
  first.run("0W0");
  EXPECT_TRUE(first.has_gradient("scale"));
  EXPECT_TRUE(first.has_gradient("weight"));
}

TEST_F(StageCoreTest, KeepsNoActivationThatItHandedOn) {
  Lone first(0, 2);
  first.core->begin_step(1, test::toy_microbatches(1));

  const TensorMap handed = first.take(first.run("0F0").activation);

  EXPECT_TRUE(handed.at("hidden").requires_grad());
  EXPECT_TRUE(handed.at("hidden").is_leaf());
  EXPECT_EQ(handed.at("hidden").storage().use_count(), 1U);
  EXPECT_FALSE(handed.at("count").requires_grad());
}

TEST_F(StageCoreTest, AsksForNoGradientWhereNothingIsTrained) {
  Lone frozen(0, 2, {.frozen = true});
  frozen.core->begin_step(1, test::toy_microbatches(1));

  const TensorMap handed = frozen.take(frozen.run("0F0").activation);
  frozen.core->put_gradient(0, frozen.put({}));
  frozen.run("0B0");

  EXPECT_FALSE(handed.at("hidden").requires_grad());
  EXPECT_TRUE(frozen.core->step_done());

  Lone last(1, 2);
  last.core->begin_step(1, test::toy_microbatches(1));
  last.activation(0, false);
  last.run("1F0");
  EXPECT_TRUE(last.take(last.run("1B0").gradient).empty());
  EXPECT_TRUE(last.has_gradient("weight"));
}

TEST_F(StageCoreTest, CountsNoLossOfWeightZeroEvenIfItIsNoNumber) {
  Lone only(0, 1);
  only.loss = [](const LastStageOutputs& outputs) -> StageLoss {
    StageLoss loss = test::toy_loss(outputs);
    if (outputs.microbatch == 0) loss = {loss.loss + std::numeric_limits<double>::quiet_NaN(), 0};
    return loss;
  };
  only.core->begin_step(1, test::toy_microbatches(2));

  for (const char* action : {"0F0", "0F1", "0B0", "0B1"}) only.run(action);
  const StageTotals totals = only.core->finish_step();

  EXPECT_TRUE(std::isfinite(totals.loss_sum));
  EXPECT_EQ(totals.weight_sum, 2.5);
}

TEST_F(StageCoreTest, NamesStageActionAndStepOfAFailure) {
  Lone last(1, 2);
  last.loss = [](const LastStageOutputs&) -> StageLoss { throw std::runtime_error("the loss is broken"); };
  last.core->begin_step(12, test::toy_microbatches(1));
  last.activation(0);

  EXPECT_EQ(test::error_of([&] { last.run("1F0"); }), "stage 1, action 1F0, step 12: the loss is broken");
}

// PIPE-33.
TEST_F(StageCoreTest, RefusesATransferTensorWithoutGradient) {
  Lone last(1, 2);
  last.loss = [](const LastStageOutputs&) -> StageLoss {
    return {at::zeros({1}, at::kDouble).requires_grad_(true), 1};
  };
  last.core->begin_step(1, test::toy_microbatches(1));
  last.activation(0);
  last.run("1F0");

  EXPECT_THAT(test::error_of([&] { last.run("1B0"); }, ErrorKind::input), testing::HasSubstr("\"hidden\""));
}

TEST_F(StageCoreTest, RefusesFactsAndActionsOutOfTurn) {
  Lone last(1, 2);
  EXPECT_THROW(last.activation(0), Error);
  last.core->begin_step(1, test::toy_microbatches(1));

  EXPECT_FALSE(last.core->ready(parse_action("1F0")));
  EXPECT_THROW(last.run("1F0"), Error);
  last.activation(0);
  EXPECT_TRUE(last.core->ready(parse_action("1F0")));
  EXPECT_FALSE(last.core->ready(parse_action("1B0")));
  EXPECT_THROW(last.activation(0), Error);
  EXPECT_THROW(last.gradient(0), Error);
  EXPECT_THROW(last.core->finish_step(), Error);
  EXPECT_THROW(last.core->begin_step(2, test::toy_microbatches(1)), Error);
}

TEST_F(StageCoreTest, RunsMicrobatchesOfForwardAloneBeforeThoseThatTrain) {
  Lone plain(0, 1);
  plain.core->begin_step(1, test::toy_microbatches(1));
  plain.run("0F0");
  plain.run("0B0");
  std::vector<bool> training;
  Lone lone(0, 1);
  StageCoreOptions options;
  options.module = lone.module;
  options.compute_loss = [&](const LastStageOutputs& outputs) {
    training.push_back(lone.module->training());
    return test::toy_loss(outputs);
  };
  options.consume_outputs = [&](const LastStageOutputs& outputs) {
    training.push_back(lone.module->training());
    for (const auto& [name, output] : outputs.outputs) EXPECT_FALSE(output.requires_grad()) << name;
  };
  lone.core = std::make_unique<StageCore>(std::move(options), lone.table);
  std::vector<MicrobatchTensors> microbatches{test::toy_microbatches(1)[0], test::toy_microbatches(1)[0]};
  microbatches[0].forward_only = true;

  lone.core->begin_step(1, microbatches);
  lone.run("0F0");
  EXPECT_FALSE(lone.core->ready(parse_action("0B0")));
  EXPECT_EQ(lone.core->num_cached(), 1);
  lone.run("0F1");
  lone.run("0B1");

  EXPECT_TRUE(lone.core->step_done());
  EXPECT_EQ(training, (std::vector<bool>{false, true}));
  const StageTotals totals = lone.core->finish_step(), expected = plain.core->finish_step();
  EXPECT_EQ(totals.loss_sum, expected.loss_sum);
  EXPECT_EQ(totals.weight_sum, expected.weight_sum);
  EXPECT_TRUE(lone.module->gradient("scale").equal(plain.module->gradient("scale")));
}

// Late work tells the next host that waits, which is long behind the action; it names the action all the same.
TEST_F(StageCoreTest, NamesTheActionThatGaveLateWorkWhichFailed) {
  for (const bool synchronous : {false, true}) {
    const auto device = delayed_device(0);
    Lone lone(0, 1);
    StageCoreOptions options;
    options.module = lone.module;
    options.device = device;
    options.synchronous = synchronous;
    options.compute_loss = [](const LastStageOutputs& outputs) {
      delayed::machine(0).enqueue(0, {"gather", {}}, [] { throw std::runtime_error("no such row"); });
      return test::toy_loss(outputs);
    };
    lone.core = std::make_unique<StageCore>(std::move(options), lone.table);
    lone.core->begin_step(3, test::toy_microbatches(1));
    const std::string error = test::error_of([&] {
      lone.run("0F0");
      EXPECT_FALSE(synchronous);
      device->record(StreamRole::compute).wait("a test");
    });

    const std::string late = "gather on delayed:0 compute in 0F0: no such row";
    EXPECT_EQ(error, synchronous ? "stage 0, action 0F0, step 3: " + late : late);
  }
}

}  // namespace
}  // namespace d9d
