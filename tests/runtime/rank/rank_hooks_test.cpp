#include "runtime/rank/rank_hooks.hpp"

#include <ATen/ops/full_like.h>
#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/runtime/train/stage_of.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Recorder final : GradientHook {
  HookVerdict gradients_reduced(const GradientContext& context) override {
    for (const NamedGradient& each : context.gradients) {
      names.push_back(each.name);
      means.push_back(each.gradient.flatten()[0].item<float>());
      at::Tensor(each.gradient).mul_(factor);
    }
    return verdict;
  }
  float factor = 1;
  HookVerdict verdict = HookVerdict::update;
  std::vector<std::string> names;
  std::vector<float> means;
};

struct Thrower final : GradientHook {
  HookVerdict gradients_reduced(const GradientContext&) override { throw std::runtime_error("too steep"); }
};

FlatParameters flat_of(float gradient) {
  std::vector<StageParameter> stage{make_parameter("a.weight", {2, 2}), make_parameter("b.weight", {3}),
                                    make_parameter("c.weight", {1})};
  stage[2].tensor.requires_grad_(false);
  FlatParameters flat(stage, {});
  for (int i : {0, 1}) flat.parameters()[static_cast<std::size_t>(i)].tensor.mutable_grad().fill_(gradient);
  return flat;
}

TEST(RankHooks, SeeMeansOfAllTrainableParametersAndTheNormIsOfWhatTheyLeave) {
  const FlatParameters flat = flat_of(8);
  const auto first = std::make_shared<Recorder>(), second = std::make_shared<Recorder>();
  first->factor = 3;

  const HookedGradients hooked = call_hooks({first, second}, flat, 4, NormType::l2, {});

  EXPECT_THAT(first->names, ElementsAre("a.weight", "b.weight"));
  EXPECT_THAT(first->means, ElementsAre(2, 2));
  EXPECT_THAT(second->means, ElementsAre(6, 6)) << "in their order";
  EXPECT_DOUBLE_EQ(hooked.norm_share, 7 * 36);
  EXPECT_FALSE(hooked.skip);
  EXPECT_EQ(call_hooks({first}, flat, 1, NormType::inf, {}).norm_share, 18);
}

TEST(RankHooks, SkipWhenOneOfThemSaysSoAndNameWhatTheyThrow) {
  const auto skips = std::make_shared<Recorder>();
  skips->verdict = HookVerdict::skip;

  EXPECT_TRUE(call_hooks({skips, std::make_shared<Recorder>()}, flat_of(1), 1, NormType::l2, {}).skip);
  EXPECT_THAT(
      test::error_of([] { call_hooks({std::make_shared<Thrower>()}, flat_of(1), 1, NormType::l2, {}); }),
      HasSubstr("a gradient hook threw: too steep"));
}

}  // namespace
}  // namespace d9d
