#include "runtime/nn/model/initial_weights.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

StageParameter parameter(const std::string& name, std::vector<std::int64_t> shape,
                         std::vector<LayoutAxis> axes = {}, at::ScalarType dtype = at::kFloat) {
  Layout layout(std::move(shape), std::move(axes));
  return {name, at::empty(layout.local_slice().shape(), dtype), layout, {Initial::Kind::normal, 0.5F}};
}

TEST(InitialWeights, IsTheStreamOfTheGlobalElement) {
  const StageParameter whole = parameter("w", {6, 10});

  draw_initial_weights({whole}, 42);

  const RandomStream stream(42, "init:w");
  const auto* values = whole.tensor.const_data_ptr<float>();
  for (std::uint64_t i = 0; i < 60; ++i) EXPECT_EQ(values[i], 0.5F * stream.normal(i));
}

TEST(InitialWeights, IsTheSameForEverySlicing) {
  const StageParameter whole = parameter("w", {6, 5, 7});
  draw_initial_weights({whole}, 7);

  for (const int dim : {0, 1, 2}) {
    for (int index = 0; index < 3; ++index) {
      const StageParameter part = parameter("w", {6, 5, 7}, {{"tp", 3, index, Placement::shard(dim)}});
      draw_initial_weights({part}, 7);
      const Slice slice = part.layout.local_slice();
      const at::Tensor expected =
          whole.tensor.narrow(dim, slice.begin[dim], slice.end[dim] - slice.begin[dim]);
      EXPECT_TRUE(at::equal(part.tensor, expected)) << dim << " " << index;
    }
  }
}

TEST(InitialWeights, IsTheSameWhenTwoDimensionsAreSharded) {
  const StageParameter whole = parameter("w", {4, 6});
  const StageParameter part =
      parameter("w", {4, 6}, {{"dp", 2, 1, Placement::shard(0)}, {"tp", 2, 1, Placement::shard(1)}});

  draw_initial_weights({whole, part}, 7);

  EXPECT_TRUE(at::equal(part.tensor, whole.tensor.narrow(0, 2, 2).narrow(1, 3, 3)));
}

TEST(InitialWeights, DiffersByNameAndSeedAndRoundsToTheDtype) {
  const StageParameter a = parameter("a", {8}), b = parameter("b", {8}), later = parameter("a", {8});
  const StageParameter half = parameter("a", {8}, {}, at::kBFloat16);

  draw_initial_weights({a, b, half}, 1);
  draw_initial_weights({later}, 2);

  EXPECT_FALSE(at::equal(a.tensor, b.tensor));
  EXPECT_FALSE(at::equal(a.tensor, later.tensor));
  EXPECT_TRUE(at::equal(half.tensor, a.tensor.to(at::kBFloat16)));
}

// Another dtype goes through a buffer of 16 M elements, here more than once and in runs that do not end with it.
TEST(InitialWeights, IsTheSameByWayOfABufferThatIsSmallerThanIt) {
  const std::vector<LayoutAxis> columns{{"tp", 2, 1, Placement::shard(1)}};
  const StageParameter exact = parameter("w", {5, 7'000'000}, columns);
  const StageParameter rounded = parameter("w", {5, 7'000'000}, columns, at::kBFloat16);

  draw_initial_weights({exact, rounded}, 7);

  EXPECT_TRUE(at::equal(rounded.tensor, exact.tensor.to(at::kBFloat16)));
}

TEST(InitialWeights, GivesAStageTheWeightsOfTheWholeModel) {
  const GoldenModel golden = golden_model("moe");
  const auto whole = golden.qwen3().build_stage({}, {});
  const auto second = golden.qwen3().build_stage({1, 2}, {});
  draw_initial_weights(whole->parameters(), 5);
  draw_initial_weights(second->parameters(), 5);

  std::map<std::string, at::Tensor> by_name;
  for (const auto& p : whole->parameters()) by_name[p.name] = p.tensor;

  for (const auto& p : second->parameters()) EXPECT_TRUE(at::equal(p.tensor, by_name.at(p.name))) << p.name;
  EXPECT_EQ(by_name.at("model.norm.weight").sum().item<float>(), 24.0F);
}

}  // namespace
}  // namespace d9d::test
