#include "runtime/peft/lora.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/base/error.hpp"
#include "runtime/nn/block/leaf.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/train/optimizer/optimizer.hpp"
#include "tests/runtime/peft/adapted_stage.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

double difference(const at::Tensor& actual, const at::Tensor& expected) {
  return (actual - expected).abs().max().item<double>() / expected.abs().max().item<double>();
}

at::Tensor loss_of(StageModule& stage) {
  return stage.forward(tiny_inputs(), tiny_labels()).at("cross_entropy").sum();
}

constexpr const char* everything = ".*";

TEST(Lora, AddsTwoFactorsToWhatMatchesAndFreezesTheRest) {
  const auto stage = adapted_stage(lora(R"(model\.layers\.1\.self_attn\.(q|v)_proj)"));

  EXPECT_THAT(trainable(*stage), ElementsAre("model.layers.1.self_attn.q_proj.lora_A.weight",
                                             "model.layers.1.self_attn.q_proj.lora_B.weight",
                                             "model.layers.1.self_attn.v_proj.lora_A.weight",
                                             "model.layers.1.self_attn.v_proj.lora_B.weight"));
  EXPECT_EQ(trainable(*stage), of_adapters(*stage));
}

TEST(Lora, MatchesWholePathsOnly) {
  EXPECT_THAT(of_adapters(*adapted_stage(lora("q_proj"))), IsEmpty());
  EXPECT_EQ(of_adapters(*adapted_stage(lora(".*q_proj"))).size(), 4U);
}

TEST(Lora, CoversEveryLinearAndTheExpertsOnce) {
  const auto stage = adapted_stage(lora(everything));

  // q, k, v, o, router and three of experts in two layers; the head.
  EXPECT_EQ(lora_adapters(*stage).size(), 17U);
  EXPECT_EQ(of_adapters(*stage).size(), 34U);
}

TEST(Lora, FactorsOfExpertsAreStacked) {
  const auto stage = adapted_stage(lora(R"(model\.layers\.0\.mlp\.experts\.down_proj)", 3));

  const auto adapters = lora_adapters(*stage);

  ASSERT_EQ(adapters.size(), 1U);
  EXPECT_EQ(adapters[0].path, "model.layers.0.mlp.experts.down_proj");
  EXPECT_EQ(adapters[0].a.tensor.sizes(), at::IntArrayRef({4, 3, 24}));
  EXPECT_EQ(adapters[0].b.tensor.sizes(), at::IntArrayRef({4, 32, 3}));
}

TEST(Lora, BeginsAsTheModelItself) {
  const auto stage = tiny_stage(tiny_mixture());
  draw_values(*stage);
  const at::Tensor before = loss_of(*stage).detach();
  inject_peft_and_freeze(*stage, *make_peft_method(lora(everything)));
  for (const LoraAdapter& adapter : lora_adapters(*stage)) {
    EXPECT_EQ(adapter.a.initial.kind, Initial::Kind::uniform) << adapter.path;
    EXPECT_EQ(adapter.b.initial.kind, Initial::Kind::constant) << adapter.path;
    adapter.b.tensor.detach().fill_(adapter.b.initial.value);
    adapter.a.tensor.detach().fill_(1);
  }

  EXPECT_LT(difference(loss_of(*stage).detach(), before), 1e-6);
}

TEST(Lora, ComputesWhatTheMergedWeightsCompute) {
  const PeftConfig config = lora(everything);
  const auto stage = adapted_stage(config);
  const at::Tensor adapted = loss_of(*stage).detach();

  merge_peft(*stage, *make_peft_method(config));

  EXPECT_THAT(of_adapters(*stage), IsEmpty());
  EXPECT_THAT(lora_adapters(*stage), IsEmpty());
  EXPECT_LT(difference(loss_of(*stage).detach(), adapted), 1e-6);
}

TEST(Lora, GivesGradientsToItsFactorsAlone) {
  const auto stage = adapted_stage(lora(everything));

  torch::autograd::backward({loss_of(*stage)}, {});

  for (const StageParameter& parameter : stage->parameters()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    ASSERT_EQ(gradient.defined(), parameter.of_adapter) << parameter.name;
    if (gradient.defined()) {
      EXPECT_GT(gradient.abs().max().item<float>(), 0) << parameter.name;
    }
  }
}

LoraConfig dora(const std::string& pattern) {
  LoraConfig config = lora(pattern);
  config.params.use_dora = true;
  return config;
}
constexpr const char* linears = ".*(q_proj|o_proj|mlp.gate|lm_head)";

TEST(Dora, TrainsTheLengthsOfRowsToo) {
  const auto stage = adapted_stage(dora(R"(.*\.0\..*q_proj)"));

  EXPECT_THAT(trainable(*stage), ElementsAre("model.layers.0.self_attn.q_proj.lora_A.weight",
                                             "model.layers.0.self_attn.q_proj.lora_B.weight",
                                             "model.layers.0.self_attn.q_proj.lora_magnitude_vector.weight"));
}

TEST(Dora, BeginsAsTheModelItself) {
  const auto stage = tiny_stage(tiny_mixture());
  draw_values(*stage);
  const at::Tensor before = loss_of(*stage).detach();
  inject_peft_and_freeze(*stage, *make_peft_method(dora(linears)));
  draw_initial_weights(stage->parameters(), 11);

  begin_magnitudes(lora_adapters(*stage), stage->parameters());

  EXPECT_LT(difference(loss_of(*stage).detach(), before), 1e-6);
}

// m / |W| of such a row is 0 / 0, and so is the loss of peft's DoRA.
TEST(Dora, NamesARowOfZeros) {
  const auto stage = adapted_stage(dora(R"(.*\.0\..*q_proj)"));
  const std::vector<LoraAdapter> adapters = lora_adapters(*stage);
  adapters.at(0).weight.tensor.detach()[5].zero_();

  EXPECT_THAT(
      error_of([&] { begin_magnitudes(adapters, stage->parameters()); }, ErrorKind::input),
      testing::HasSubstr("model.layers.0.self_attn.q_proj.weight: row 5 is zeros, which have no direction"));
}

TEST(Dora, BeginsInTheRowsOfARank) {
  const auto stage = adapted_stage(dora(R"(.*\.0\..*q_proj)"));
  const LoraAdapter adapter = lora_adapters(*stage).at(0);
  StageParameter half = *adapter.magnitudes;
  half.layout = Layout({32}, {{"dp_cp_shard", 2, 1, Placement::shard(0)}});
  half.tensor = at::full({16}, 0.0);

  begin_magnitudes({adapter}, {adapter.weight, half});

  const at::Tensor expected = row_lengths(adapter.weight.tensor, adapter.a.tensor, adapter.b.tensor, 0);
  EXPECT_LT(difference(half.tensor, expected.narrow(0, 16, 16)), 1e-6);
}

TEST(Dora, ComputesWhatTheMergedWeightsCompute) {
  const auto stage = adapted_stage(dora(linears));
  const at::Tensor adapted = loss_of(*stage).detach();

  merge_peft(*stage, *make_peft_method(dora(linears)));

  EXPECT_THAT(of_adapters(*stage), IsEmpty());
  EXPECT_LT(difference(loss_of(*stage).detach(), adapted), 1e-6);
}

TEST(Dora, IsRefusedBesideExpertsAndOnRowsThatAreCut) {
  EXPECT_THROW(adapted_stage(dora(".*experts.*")), Error);

  const auto stage = adapted_stage(dora(R"(.*\.0\..*o_proj)"));
  std::vector<StageParameter> parameters = stage->parameters();
  StageParameter weight = lora_adapters(*stage).at(0).weight;
  weight.layout = Layout(weight.layout.global_shape(), {{"tp", 2, 0, Placement::shard(1)}});
  EXPECT_THAT(error_of(
                  [&] {
                    const AdaptedModel model(*stage);
                    const auto modules = model.modules(ModulePattern(R"(.*\.0\..*o_proj)"));
                    dynamic_cast<const Linear&>(*modules.at(0).module).branch->follow(weight, parameters);
                  },
                  ErrorKind::input),
              testing::HasSubstr("use tensor_parallel 1"));
}

TEST(Lora, LeavesNoGradientsMomentsOrBucketsToTheFrozenModel) {
  const auto stage = adapted_stage(lora(".*_proj"));
  std::int64_t added = 0;
  for (const StageParameter& parameter : stage->parameters()) {
    if (parameter.of_adapter) added += parameter.tensor.numel();
  }

  const FlatParameters flat(stage->parameters(), {});
  const auto optimizer = make_optimizer(AdamWOptions{.lr = 0.01}, flat);

  EXPECT_EQ(flat.num_elements(), added);
  std::int64_t moments = 0;
  for (const StateEntry& entry : optimizer->state_entries()) {
    if (entry.kind == "param") continue;
    EXPECT_THAT(entry.name, testing::HasSubstr(".lora_")) << entry.kind;
    moments += entry.tensor.numel();
  }
  EXPECT_EQ(moments, 2 * added);
  for (const StageParameter& parameter : stage->parameters())
    EXPECT_EQ(parameter.tensor.grad().defined(), parameter.of_adapter) << parameter.name;
}

}  // namespace
}  // namespace d9d::test
