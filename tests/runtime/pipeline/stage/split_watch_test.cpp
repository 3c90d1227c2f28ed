// A split backward meets an operator of the user's own (PyTorch's split stops at such nodes without a word).
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/linear.hpp"
#include "runtime/pipeline/stage/stage_core.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct UsersScale : torch::autograd::Function<UsersScale> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& gain) {
    context->save_for_backward({x, gain});
    return x * gain;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    return {grads[0] * saved[1], (grads[0] * saved[0]).sum(0)};
  }
};

class UsersStage final : public StageModule {
 public:
  UsersStage() {
    add("gain", at::full({2}, 3, at::kDouble));
    add("weight", at::full({2, 2}, 0.5, at::kDouble));
  }
  TensorMap forward(const TensorMap& inputs, const TensorMap& /*shared*/) override {
    const at::Tensor scaled = UsersScale::apply(inputs.at("hidden"), parameters_[0].tensor);
    return {{"hidden", kernels::linear(scaled, parameters_[1].tensor)}};
  }
  std::vector<StageParameter> parameters() override { return parameters_; }
  void set_training(bool /*training*/) override {}

 private:
  void add(const std::string& name, at::Tensor tensor) {
    tensor.requires_grad_(true);
    tensor.mutable_grad() = at::zeros_like(tensor);
    StageParameter parameter;
    parameter.name = name;
    parameter.tensor = tensor;
    parameters_.push_back(std::move(parameter));
  }
  std::vector<StageParameter> parameters_;
};

// One microbatch through the middle of three stages.
class SplitBackward : public ::testing::Test {
 protected:
  void SetUp() override {
    StageCoreOptions options;
    options.module = module;
    options.stage = 1;
    options.num_stages = 3;
    options.on_not_split = [this](std::size_t parameter, const std::string& nodes) {
      found.emplace_back(module->parameters()[parameter].name, nodes);
    };
    core = std::make_unique<StageCore>(std::move(options), table);
  }
  void run_step(std::uint64_t step, const std::vector<std::string>& actions) {
    core->begin_step(step, {MicrobatchTensors{}});
    core->put_activation(0, put(at::ones({4, 2}, at::kDouble).requires_grad_(true)));
    core->run(parse_action("1F0"));
    core->put_gradient(0, put(at::ones({4, 2}, at::kDouble)));
    for (const std::string& action : actions) core->run(parse_action(action));
    core->finish_step();
  }
  Ticket put(at::Tensor hidden) {
    return table.put(std::make_unique<TensorParcel>(TensorMap{{"hidden", std::move(hidden)}}));
  }
  at::Tensor gradient(std::size_t parameter) { return module->parameters()[parameter].tensor.grad(); }

  TensorTable table{16};
  std::shared_ptr<UsersStage> module = std::make_shared<UsersStage>();
  std::unique_ptr<StageCore> core;
  std::vector<std::pair<std::string, std::string>> found;  // parameter, nodes
};

TEST_F(SplitBackward, NamesTheNodeThatCannotBeSplitAndTrainsItRight) {
  run_step(1, {"1I0", "1W0"});

  ASSERT_EQ(found.size(), 1U) << "the weight of kernels::linear is left to W";
  EXPECT_EQ(found[0].first, "gain");
  EXPECT_NE(found[0].second.find("UsersScale"), std::string::npos) << found[0].second;
  EXPECT_TRUE(gradient(0).equal(at::full({2}, 4.0, at::kDouble))) << "4 rows x (0.5 + 0.5)";
  EXPECT_TRUE(gradient(1).equal(at::full({2, 2}, 12.0, at::kDouble))) << "4 rows x 3";
}

TEST_F(SplitBackward, SaysItOnceAndOnlyWhereThereIsASplit) {
  run_step(1, {"1B0"});
  EXPECT_TRUE(found.empty());

  run_step(2, {"1I0", "1W0"});
  run_step(3, {"1I0", "1W0"});

  EXPECT_EQ(found.size(), 1U);
}

}  // namespace
}  // namespace d9d
