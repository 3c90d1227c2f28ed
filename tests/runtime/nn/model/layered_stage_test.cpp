#include "runtime/nn/model/layered_stage.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "kernels/linear.hpp"
#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Mixing final : LayeredStage {
  Mixing(const Keys& keys, StagePosition position) : LayeredStage(keys, position) {
    for (const std::int64_t i : layers()) add(i, "mix", {width(), width()});
  }
  at::Tensor layer(std::int64_t i, const at::Tensor& hidden) override {
    return hidden + kernels::linear(hidden, weight(i, "mix"));
  }
  void add_mix_again() { add(0, "mix", {1}); }
  void use(const std::string& name) { weight(0, name); }
};

const LayeredSizes sizes{.vocab_size = 11, .width = 4, .layers = 3};

// The same values for the same name, on whichever stage.
void draw(Mixing& stage) {
  for (const StageParameter& parameter : stage.parameters()) {
    const at::Tensor flat = parameter.tensor.detach().view({-1});
    for (std::int64_t i = 0; i < flat.numel(); ++i)
      flat[i].fill_(
          0.1 * static_cast<double>((i * 7 + static_cast<std::int64_t>(parameter.name.size())) % 9) - 0.3);
  }
}

std::vector<std::string> names_of(Mixing& stage) {
  std::vector<std::string> names;
  for (const StageParameter& parameter : stage.parameters()) names.push_back(parameter.name);
  return names;
}

TEST(LayeredStage, HasEmbeddingHeadAndItsLayersWhereTheyBelong) {
  Mixing first(sizes, {0, 2}), last(sizes, {1, 2});

  EXPECT_THAT(names_of(first), ElementsAre("embedding", "layers.0.mix", "layers.1.mix"));
  EXPECT_THAT(names_of(last), ElementsAre("norm", "head", "layers.2.mix"));
}

TEST(LayeredStage, ComputesTheSameOverStages) {
  Mixing whole(sizes, {0, 1}), first(sizes, {0, 2}), last(sizes, {1, 2});
  for (Mixing* stage : {&whole, &first, &last}) draw(*stage);
  const TensorMap inputs{{"input_ids", at::tensor({3, 1, 10, 0}, at::kLong).view({2, 2})}};
  const TensorMap labels{{"labels", at::tensor({1, 4, -100, 2}, at::kLong).view({2, 2})}};

  const at::Tensor logits = whole.forward(inputs, {}).at("logits");
  const at::Tensor loss = whole.forward(inputs, labels).at("cross_entropy");

  EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{2, 2, 11}));
  EXPECT_TRUE(at::allclose(last.forward(first.forward(inputs, {}), {}).at("logits"), logits));
  EXPECT_TRUE(at::allclose(last.forward(first.forward(inputs, labels), labels).at("cross_entropy"), loss));
  EXPECT_EQ(loss[1][0].item<float>(), 0);
}

TEST(LayeredStage, RefusesSizesAndNamesThatCannotBe) {
  Mixing stage(sizes, {0, 1});

  EXPECT_THAT(test::error_of([] {
                Mixing({.vocab_size = 0}, {0, 1});
              }),
              HasSubstr("model_provider: a model of 0 tokens"));
  EXPECT_THROW(Mixing(sizes, {0, 4}), Error) << "four stages, three layers";
  EXPECT_THAT(test::error_of([&] { stage.use("mux"); }), HasSubstr("layers.0.mux, which it did not add"));
  EXPECT_THAT(test::error_of([&] { stage.add_mix_again(); }),
              HasSubstr("adds the parameter layers.0.mix twice"));
}

}  // namespace
}  // namespace d9d
