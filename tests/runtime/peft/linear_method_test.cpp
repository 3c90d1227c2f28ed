// A plugin's method for linears: IA3 of examples/own_model, in a tiny Qwen3 mixture.
#include "runtime/peft/linear_method.hpp"

#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>

#include "examples/own_model/ia3.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/peft/own_adapters.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/runtime/peft/adapted_stage.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct WithoutMerge final : LinearMethod {
  struct Branch final : OwnBranch {
    BranchResult forward(const at::Tensor& x) const override { return {.added = x}; }
  };
  std::string pattern() const override { return R"(model\.layers\.0\.self_attn\.q_proj)"; }
  std::shared_ptr<OwnBranch> make_branch(ParameterMaker& /*make*/, Linear& linear) const override {
    return linear.register_module("plain", std::make_shared<Branch>());
  }
};

mine::Ia3 ia3(const std::string& pattern) {
  mine::Ia3 method;
  method.module_name_pattern = pattern;
  return method;
}

constexpr const char* two_linears = R"(model\.layers\.1\.self_attn\.(k|o)_proj)";

std::unique_ptr<StageModule> with_factors(const PeftMethod& method) {
  auto stage = tiny_stage(tiny_mixture());
  inject_peft_and_freeze(*stage, method);
  draw_values(*stage);
  for (const StageParameter& parameter : stage->parameters()) {
    if (!parameter.of_adapter) continue;
    at::Tensor values = parameter.tensor.detach();
    for (std::int64_t i = 0; i < values.numel(); ++i) values[i] = 0.5 + 0.125 * static_cast<double>(i % 9);
  }
  return stage;
}

at::Tensor losses_of(StageModule& stage) {
  return stage.forward(tiny_inputs(), tiny_labels()).at("cross_entropy");
}

TEST(LinearMethod, TrainsWhatItAddsAndNothingElse) {
  const auto stage = tiny_stage(tiny_mixture());
  inject_peft_and_freeze(*stage, ia3(two_linears));
  draw_initial_weights(stage->parameters(), 3);

  EXPECT_THAT(trainable(*stage), ElementsAre("model.layers.1.self_attn.k_proj.ia3.weight",
                                             "model.layers.1.self_attn.o_proj.ia3.weight"));
  EXPECT_EQ(trainable(*stage), of_adapters(*stage));
  const auto plain = tiny_stage(tiny_mixture());
  draw_initial_weights(plain->parameters(), 3);
  EXPECT_TRUE(bitwise_equal(losses_of(*stage).detach(), losses_of(*plain).detach()))
      << "factors start at one";
}

// d loss / d s_o = sum over i of W_oi * d loss / d W'_oi, where W' = diag(s) W.
TEST(LinearMethod, ItsGradientsAreThoseOfTheMergedWeight) {
  const mine::Ia3 method = ia3(two_linears);
  const auto adapted = with_factors(method), merged = with_factors(method);
  TensorMap weights;
  for (const StageParameter& parameter : merged->parameters())
    weights[parameter.name] = parameter.tensor.clone();
  merge_peft(*merged, method);
  for (const StageParameter& parameter : merged->parameters()) parameter.tensor.requires_grad_(true);
  zero_gradients(*merged);
  zero_gradients(*adapted);

  const at::Tensor loss = losses_of(*adapted), expected = losses_of(*merged);
  run_backward(loss.sum());
  run_backward(expected.sum());

  EXPECT_LT(relative_difference(loss, expected), 1e-5);
  EXPECT_THAT(of_adapters(*merged), IsEmpty());
  const TensorMap gradients = gradients_of(*adapted), of_weights = gradients_of(*merged);
  for (const char* linear : {"model.layers.1.self_attn.k_proj", "model.layers.1.self_attn.o_proj"}) {
    const std::string weight = std::string(linear) + ".weight";
    const at::Tensor of_factors = (of_weights.at(weight) * weights.at(weight)).sum(1).detach();
    EXPECT_LT(relative_difference(gradients.at(std::string(linear) + ".ia3.weight"), of_factors), 1e-4)
        << linear;
  }
}

// A bias is added behind the factors, so that it stays as it is (huggingface/peft pull request 972 had to scale it).
TEST(LinearMethod, MergesBesideBiases) {
  const auto golden = golden_model("dense_families/llama_bias_tied");
  const mine::Ia3 method = ia3(".*(q|k|o)_proj");
  const auto stage = stage_of(golden);
  inject_peft_and_freeze(*stage, method);
  double value = 0.5;
  for (const StageParameter& parameter : stage->parameters())
    if (parameter.of_adapter) parameter.tensor.detach().fill_(value += 0.25);
  const at::Tensor adapted = stage->forward(golden.inputs, {}).at("logits").detach();

  merge_peft(*stage, method);

  const at::Tensor merged = stage->forward(golden.inputs, {}).at("logits").detach();
  EXPECT_LT(relative_difference(merged, adapted), 1e-5);
  EXPECT_GT(relative_difference(adapted, golden.expect.at("logits")), 1e-2);
}

TEST(LinearMethod, KeepsAnAdapterThatIsThere) {
  const auto stage = tiny_stage(tiny_mixture());
  AdaptedModel model(*stage);

  EXPECT_EQ(ia3(two_linears).inject(model), 2U);
  EXPECT_EQ(ia3(two_linears).inject(model), 0U);
  EXPECT_EQ(ia3("no such module").inject(model), 0U);
}

TEST(LinearMethod, RefusesExpertsByName) {
  const auto stage = tiny_stage(tiny_mixture());

  EXPECT_THAT(
      error_of([&] { inject_peft_and_freeze(*stage, ia3(".*up_proj")); }),
      AllOf(HasSubstr("model.layers.0.mlp.experts.up_proj is of experts"), HasSubstr("write a pattern")));
}

TEST(LinearMethod, SaysWhichAdapterNoExportCanHold) {
  const auto merges = with_factors(ia3(two_linears));
  EXPECT_NO_THROW(require_merged_form(*merges));

  const auto stage = tiny_stage(tiny_mixture());
  inject_peft_and_freeze(*stage, WithoutMerge());
  EXPECT_THAT(
      error_of([&] { require_merged_form(*stage); }),
      AllOf(HasSubstr("model.layers.0.self_attn.q_proj.weight: its adapter method has no merged form"),
            HasSubstr("leave export_to out")));
}

}  // namespace
}  // namespace d9d::test
