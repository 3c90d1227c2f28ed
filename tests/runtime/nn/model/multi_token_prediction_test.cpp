// Against the reference of tests/golden/multi_token_prediction (origin.md).
#include "runtime/nn/model/multi_token_prediction.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/base/error.hpp"
#include "runtime/data/next_tokens.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

class Prediction : public testing::TestWithParam<std::string> {
 protected:
  Prediction() : golden_(golden_model("multi_token_prediction/" + GetParam())) {
    shared_ = golden_.labels;
    shared_["input_ids"] = golden_.inputs.at("input_ids");
    add_next_tokens(shared_, golden_.model->prediction_depths);
    shared_.erase("input_ids");
  }

  at::Tensor loss_of(const TensorMap& outputs) const {
    return mean_loss(outputs.at("cross_entropy"), golden_.labels.at("labels"));
  }
  // But for what is no gradient.
  std::size_t expected_gradients() const {
    return golden_.expect.size() - 6 - static_cast<std::size_t>(golden_.model->prediction_depths);
  }

  GoldenModel golden_;
  TensorMap shared_;
};
INSTANTIATE_TEST_SUITE_P(Cases, Prediction, testing::Values("two_depths", "one_depth_tied"),
                         [](const auto& info) { return info.param; });

TEST_P(Prediction, LossesOfEveryDepthAreThoseOfTheReference) {
  const auto stage = stage_of(golden_);

  const TensorMap outputs = stage->forward(golden_.inputs, shared_);

  const double expected = golden_.expect.at("loss").item<double>();
  EXPECT_NEAR(loss_of(outputs).item<double>(), expected, 1e-6 * expected);
  EXPECT_LT(relative_difference(outputs.at("depth_losses"), golden_.expect.at("depth_losses")), 1e-5);
  EXPECT_FALSE(outputs.at("depth_losses").requires_grad());
}

TEST_P(Prediction, EveryTokenHasTheLossesOfTheReference) {
  const auto stage = stage_of(golden_);
  const std::int64_t depths = golden_.model->prediction_depths;
  const double factor = golden_.model->prediction_loss_factor / static_cast<double>(depths);

  const at::Tensor found = stage->forward(golden_.inputs, shared_).at("cross_entropy");

  at::Tensor expected = golden_.expect.at("token_loss");
  for (std::int64_t k = 1; k <= depths; ++k) {
    const at::Tensor of_depth = golden_.expect.at("token_loss_" + std::to_string(k));
    const at::Tensor none = at::full({of_depth.size(0), k}, 0.0F);
    expected = expected + at::cat({of_depth, none}, 1) * factor;
  }
  EXPECT_LT(relative_difference(found, expected), 1e-5);
}

TEST_P(Prediction, EveryGradientIsThatOfTheReference) {
  for (const bool checkpointed : {false, true}) {
    BuildOptions options;
    options.checkpoint_activations = checkpointed;
    const auto stage = stage_of(golden_, {}, options);

    run_backward(loss_of(stage->forward(golden_.inputs, shared_)));

    const TensorMap gradients = gradients_of(*stage);
    EXPECT_EQ(gradients.size(), expected_gradients());
    for (const auto& [name, gradient] : gradients)
      EXPECT_LT(relative_difference(gradient, golden_.expect.at("grad." + name)), 1e-4) << name;
  }
}

// The last stage embeds tokens with a copy of the table.
TEST_P(Prediction, TheGradientsOfTwoStagesAddUpToThoseOfTheReference) {
  const auto first = stage_of(golden_, {0, 2});
  const auto last = stage_of(golden_, {1, 2});

  const at::Tensor sent = first->forward(golden_.inputs, shared_).at("hidden_states");
  const at::Tensor received = sent.detach().requires_grad_();
  run_backward(loss_of(last->forward({{"hidden_states", received}}, shared_)));
  run_backward(sent, received.grad());

  TensorMap found = gradients_of(*first);
  for (const auto& [name, gradient] : gradients_of(*last)) {
    const auto [place, is_new] = found.try_emplace(name, gradient);
    EXPECT_EQ(is_new, name != "model.embed_tokens.weight") << name;
    if (!is_new) place->second = place->second + gradient;
  }
  EXPECT_EQ(found.size(), expected_gradients());
  for (const auto& [name, gradient] : found)
    EXPECT_LT(relative_difference(gradient, golden_.expect.at("grad." + name)), 1e-4) << name;
}

TEST_P(Prediction, ChangesNothingWhereTheModelDoesNotTrain) {
  const auto stage = stage_of(golden_);
  stage->set_training(false);

  const TensorMap outputs = stage->forward(golden_.inputs, golden_.labels);

  EXPECT_LT(relative_difference(outputs.at("cross_entropy"), golden_.expect.at("token_loss")), 1e-5);
  EXPECT_FALSE(outputs.contains("depth_losses"));
  EXPECT_LT(relative_difference(stage->forward(golden_.inputs, {}).at("logits"), golden_.expect.at("logits")),
            1e-5);
}

TEST_P(Prediction, AsksATaskForTheTokensBehindEachToken) {
  const auto stage = stage_of(golden_);

  EXPECT_THAT(error_of([&] { stage->forward(golden_.inputs, golden_.labels); }, ErrorKind::input),
              HasSubstr("next_ids"));
}

TEST_P(Prediction, CountsTheParametersThatAreBuilt) {
  for (const StagePosition& position : {StagePosition{0, 1}, StagePosition{0, 2}, StagePosition{1, 2}}) {
    std::int64_t built = 0;
    for (const auto& p : golden_.model->build_stage(position, {})->parameters()) built += p.tensor.numel();
    EXPECT_EQ(count_parameters(*golden_.model, position).total, built);
  }
}

}  // namespace
}  // namespace d9d::test
