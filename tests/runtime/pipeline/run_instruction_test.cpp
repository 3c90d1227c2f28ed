// Composed actions on two lanes: a model whose stages sum over the ranks of a group in both directions.
#include "runtime/pipeline/run_instruction.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include <latch>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/pipeline/lane/compute_lanes.hpp"
#include "runtime/pipeline/lane/lane_communicator.hpp"
#include "tests/runtime/pipeline/toy_stages.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

constexpr int stage_count = 2;
constexpr int microbatch_count = 6;
constexpr std::int64_t row_count = 3;

at::Tensor numbers(const std::string& name, at::IntArrayRef shape) {
  const RandomStream random(7, name);
  at::Tensor tensor = at::zeros(shape, at::kDouble);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<double>()[i] = random.uniform(static_cast<std::uint64_t>(i)) - 0.5;
  }
  return tensor;
}

at::Tensor summed(const at::Tensor& x, Communicator& group) {
  at::Tensor sum = x.clone();
  group.all_reduce(sum, ReduceOp::sum).wait();
  return sum;
}

// The sum over the ranks; its gradient is the sum of theirs.
class Sum : public torch::autograd::Function<Sum> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            std::int64_t group) {
    context->saved_data["group"] = group;
    return summed(x, *reinterpret_cast<Communicator*>(group));
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    auto* group = reinterpret_cast<Communicator*>(context->saved_data["group"].toInt());
    return {summed(gradients[0], *group), {}};
  }
};

class SummingStage final : public StageModule {
 public:
  SummingStage(int stage, int rank, std::shared_ptr<Communicator> group)
      : stage_(stage), group_(std::move(group)) {
    weight_ =
        numbers(fmt::format("stage {} rank {}", stage, rank), {toy_width, toy_width}).requires_grad_(true);
    weight_.mutable_grad() = at::zeros_like(weight_);
  }
  TensorMap forward(const TensorMap& inputs, const TensorMap& /*shared*/) override {
    at::Tensor x = inputs.at("x");
    for (int i = 0; i < 2; ++i) {
      x = at::tanh(Sum::apply(at::matmul(x, weight_), reinterpret_cast<std::int64_t>(group_.get())));
    }
    return {{"x", x}};
  }
  std::vector<StageParameter> parameters() override {
    return {{.name = fmt::format("stage{}.weight", stage_), .tensor = weight_}};
  }
  void set_training(bool) override {}
  at::Tensor gradient() const { return weight_.grad(); }

 private:
  const int stage_;
  const std::shared_ptr<Communicator> group_;
  at::Tensor weight_;
};

// One of two ranks that run the same stages, as tensor-parallel ranks do.
class Peer {
 public:
  Peer(int rank, bool overlap, SharedMemoryHub& hub) : overlap_(overlap) {
    std::vector<std::shared_ptr<Communicator>> by_lane;
    for (const char* name : {"lane 0", "lane 1"}) {
      by_lane.push_back(hub.open({.name = name, .ranks = {0, 1}, .index = rank}, std::chrono::seconds(20)));
    }
    const std::shared_ptr<Communicator> group = make_lane_communicator(std::move(by_lane), lanes_);
    for (int stage = 0; stage < stage_count; ++stage) {
      modules_.push_back(std::make_shared<SummingStage>(stage, rank, group));
      StageCoreOptions options{.module = modules_.back(), .stage = stage, .num_stages = stage_count};
      options.compute_loss = [](const LastStageOutputs& outputs) {
        return StageLoss{at::mean(outputs.outputs.at("x")), 1};
      };
      cores_.push_back(std::make_unique<StageCore>(std::move(options), table_));
    }
  }

  void run_step() {
    std::vector<MicrobatchTensors> microbatches;
    for (int i = 0; i < microbatch_count; ++i) {
      microbatches.push_back(
          {.inputs = {{"x", numbers(fmt::format("microbatch {}", i), {row_count, toy_width})}}});
    }
    for (const auto& core : cores_) core->begin_step(1, microbatches);
    const PipelineProgram program = build_program(DualPipeVSchedule{}, 1, microbatch_count);
    for (const Instruction& instruction : program.compute[0]) {
      if (instruction.parts.size() > 1) ++composed_;
      const auto results = run_instruction(
          instruction, overlap_ ? &lanes_ : nullptr,
          [&](const Action& action) { return cores_[static_cast<std::size_t>(action.stage)]->run(action); });
      for (std::size_t i = 0; i < results.size(); ++i) pass(instruction.parts[i], results[i]);
    }
    for (const auto& core : cores_) loss_sum_ += core->finish_step().loss_sum;
  }

  int composed() const { return composed_; }
  double loss_sum() const { return loss_sum_; }
  at::Tensor gradient(int stage) const { return modules_[static_cast<std::size_t>(stage)]->gradient(); }

 private:
  void pass(const Action& action, const ActionResult& result) {
    const auto at = [&](int stage) -> StageCore& { return *cores_[static_cast<std::size_t>(stage)]; };
    if (result.activation) at(action.stage + 1).put_activation(action.microbatch, result.activation);
    if (result.gradient) at(action.stage - 1).put_gradient(action.microbatch, result.gradient);
  }

  const bool overlap_;
  ComputeLanes lanes_;
  TensorTable table_{64};
  std::vector<std::shared_ptr<SummingStage>> modules_;
  std::vector<std::unique_ptr<StageCore>> cores_;
  int composed_ = 0;
  double loss_sum_ = 0;
};

struct Outcome {
  std::vector<at::Tensor> gradients;  // of both ranks, stage by stage
  double loss_sum = 0;
  int composed = 0;
};

Outcome outcome_of(bool overlap) {
  SharedMemoryHub hub;
  std::vector<Outcome> by_rank(2);
  const auto run = [&](int rank) {
    at::set_num_threads(1);
    Peer peer(rank, overlap, hub);
    peer.run_step();
    for (int stage = 0; stage < stage_count; ++stage) by_rank[rank].gradients.push_back(peer.gradient(stage));
    by_rank[rank].loss_sum = peer.loss_sum();
    by_rank[rank].composed = peer.composed();
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  for (const at::Tensor& gradient : by_rank[1].gradients) by_rank[0].gradients.push_back(gradient);
  return by_rank[0];
}

TEST(RunInstruction, ComposedActionsOnTwoLanesGiveTheNumbersOfOneAfterTheOther) {
  const Outcome expected = outcome_of(false);

  for (int repeat = 0; repeat < 5; ++repeat) {
    const Outcome got = outcome_of(true);

    ASSERT_GT(got.composed, 2);
    EXPECT_EQ(got.loss_sum, expected.loss_sum);
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      EXPECT_GT(expected.gradients[i].abs().max().item().toDouble(), 0);
      EXPECT_TRUE(at::equal(got.gradients[i], expected.gradients[i])) << "gradient " << i;
    }
  }
}

// A collective that nobody joins until the other part has come to its own: only an overlap gets past it.
TEST(RunInstruction, OnePartComputesWhileTheOtherIsInItsCollective) {
  ComputeLanes lanes;
  std::latch both_wait(2);
  const auto result = run_instruction(parse_instruction("0F3|3B1"), &lanes, [&](const Action& action) {
    const ComputeLanes::YieldWhileWaiting waits(lanes);
    both_wait.arrive_and_wait();
    return ActionResult{.activation = {static_cast<std::uint32_t>(action.stage), 1}};
  });

  EXPECT_EQ(result[0].activation.slot, 0U);
  EXPECT_EQ(result[1].activation.slot, 3U);
}

TEST(RunInstruction, PartsOfOneStageAndPartsWithoutLanesRunOneAfterTheOther) {
  ComputeLanes lanes;
  std::vector<std::string> ran;
  const auto run = [&](const Action& action) {
    ran.push_back(to_string(action) + " begins");
    { const ComputeLanes::YieldWhileWaiting waits(lanes); }
    ran.push_back(to_string(action) + " ends");
    return ActionResult{};
  };
  const std::vector<std::string> expected{"0F3 begins", "0F3 ends", "0B1 begins", "0B1 ends"};

  run_instruction(parse_instruction("0F3|0B1"), &lanes, run);
  EXPECT_EQ(std::exchange(ran, {}), expected);
  run_instruction(parse_instruction("0F3|0B1"), nullptr, run);
  EXPECT_EQ(std::exchange(ran, {}), expected);
  run_instruction(parse_instruction("0F3|3B1"), &lanes, run);
  EXPECT_EQ(ran, (std::vector<std::string>{"0F3 begins", "3B1 begins", "0F3 ends", "3B1 ends"}));
}

TEST(RunInstruction, AnErrorOfThePartOnTheSecondLaneComesToTheCaller) {
  ComputeLanes lanes;
  const auto run = [](const Action& action) {
    if (action.kind == ActionKind::backward)
      throw Error(ErrorKind::input, "bad weather in " + to_string(action));
    return ActionResult{};
  };

  EXPECT_EQ(error_of([&] { run_instruction(parse_instruction("0F3|3B1"), &lanes, run); }, ErrorKind::input),
            "bad weather in 3B1");
}

}  // namespace
}  // namespace d9d::test
