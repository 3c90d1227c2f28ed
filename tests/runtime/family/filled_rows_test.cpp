// What fills rows up counts for no router, as in transformers with an attention mask; see tests/golden/filled_rows.
#include <ATen/ops/constant_pad_nd.h>
#include <gtest/gtest.h>

#include "runtime/nn/model/document_starts.hpp"
#include "runtime/tensor/routed_stage.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

struct FilledRows : testing::TestWithParam<std::string> {
  FilledRows() : golden(golden_model("filled_rows/" + GetParam())), stage(stage_of(golden)) {}

  // The rows filled up by `left` further positions before and `right` behind them. -> the mean loss of the tokens that
  // count.
  at::Tensor loss(std::int64_t right, std::int64_t left = 0) {
    const auto filled = [&](const char* name, std::int64_t value) {
      return at::constant_pad_nd(golden.expect.at(name), {left, right}, value);
    };
    const at::Tensor labels = filled("labels", -100), mask = filled("token_mask", 0).to(at::kBool);
    TensorMap shared{{"labels", labels}, {"token_mask", mask}};
    if (left > 0) shared["document_starts"] = starts_apart({}, mask);
    stage->set_training(true);
    return mean_loss(stage->forward({{"input_ids", filled("input_ids", 3)}}, shared).at("cross_entropy"),
                     labels);
  }
  void expect_near_golden(const at::Tensor& loss) const {
    const double expected = golden.expect.at("loss").item<double>();
    EXPECT_NEAR(loss.item<double>(), expected, 2e-6 * expected);
  }

  GoldenModel golden;
  std::unique_ptr<StageModule> stage;
};
INSTANTIATE_TEST_SUITE_P(Cases, FilledRows,
                         testing::Values("qwen3_moe", "mixtral", "qwen2_moe", "gpt_oss", "qwen3_next"),
                         [](const auto& info) { return info.param; });

TEST_P(FilledRows, LossesAndGradientsAreThoseOfTransformersWithAnAttentionMask) {
  const at::Tensor found = loss(0);
  run_backward(found);

  expect_near_golden(found);
  for (const auto& [name, gradient] : gradients_of(*stage))
    EXPECT_LT(relative_difference(gradient, golden.expect.at("grad." + name)), 1e-4) << name;
}

TEST_P(FilledRows, AreTheSameHoweverLongTheyAre) {
  expect_near_golden(loss(19));
}

TEST_P(FilledRows, AreTheSameWhereTheyAreFilledUpOnTheLeft) {
  expect_near_golden(loss(2, 9));
}

TEST_P(FilledRows, CountTokensOfExpertsWithoutWhatFillsThemUp) {
  loss(5);

  const at::Tensor expected = golden.expect.at("expert_tokens");
  const auto routed = dynamic_cast<const RoutedStage&>(*stage).routed_tokens();
  ASSERT_EQ(static_cast<std::int64_t>(routed.size()), expected.size(0));
  for (std::size_t i = 0; i < routed.size(); ++i)
    EXPECT_TRUE(routed[i].tokens.equal(expected[static_cast<std::int64_t>(i)])) << routed[i].layer;
}

}  // namespace
}  // namespace d9d::test
