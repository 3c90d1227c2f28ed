#include "runtime/train/flat_parameters.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/train/gradient/gradient_norm.hpp"
#include "runtime/train/optimizer/optimizer.hpp"
#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;

const void* end_of(const at::Tensor& tensor) {
  return static_cast<const char*>(tensor.data_ptr()) + tensor.nbytes();
}

std::vector<StageParameter> attention_stage() {
  return {make_parameter("model.embed.weight", {7, 3}),
          make_parameter("model.layers.0.attn.q.weight", {5, 3}),
          make_parameter("model.layers.0.attn.k.weight", {3, 3}),
          make_parameter("model.layers.0.attn.v.weight", {3, 3}),
          make_parameter("model.layers.0.mlp.gate.weight", {11, 3}),
          make_parameter("model.layers.0.mlp.up.weight", {11, 3})};
}

TEST(FlatParameters, KeepTheTensorsAndTheirValues) {
  const auto stage = attention_stage();

  const FlatParameters flat(stage, {});

  for (const StageParameter& parameter : stage) {
    EXPECT_TRUE(at::equal(parameter.tensor, wave(parameter.name, parameter.layout.global_shape())));
    EXPECT_TRUE(parameter.tensor.requires_grad());
    EXPECT_EQ(parameter.tensor.grad().abs().sum().item<float>(), 0);
  }
  EXPECT_EQ(flat.num_elements(), 21 + 15 + 9 + 9 + 33 + 33);
}

TEST(FlatParameters, LayParametersOfAModuleWithoutGapsEvenWhenSizesAreOdd) {
  const auto stage = attention_stage();

  const FlatParameters flat(stage, {});

  EXPECT_EQ(stage[1].tensor.storage().data(), stage[2].tensor.storage().data());
  EXPECT_EQ(end_of(stage[1].tensor), stage[2].tensor.data_ptr());
  EXPECT_EQ(end_of(stage[2].tensor), stage[3].tensor.data_ptr());
  EXPECT_EQ(end_of(stage[4].tensor.grad()), stage[5].tensor.grad().data_ptr());
}

// Odd lengths before every kind of parameter. q and k may be one matrix.
std::vector<StageParameter> odd_stage(at::ScalarType dtype) {
  const auto make = [&](const char* name, std::vector<std::int64_t> shape) {
    return make_parameter(name, Layout::local(std::move(shape)), dtype);
  };
  return {
      make("a.norm.weight", {7}),          make("a.q_proj.weight", {5, 3}),  make("a.k_proj.weight", {3, 3}),
      make("a.q_proj.bias", {5}),          make("b.gate.weight", {1}),       make("b.up.weight", {4, 8}),
      make("b.experts.weight", {2, 3, 3}), make("b.more.weight", {2, 3, 3}), make("b.scale", {1})};
}

TEST(FlatParameters, BeginWhereSixteenBytesAreReadAtOnceUnlessTheyMayBeOneMatrix) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const auto grad_dtype : {std::optional<at::ScalarType>(), std::optional(at::kBFloat16)}) {
      const auto stage = odd_stage(dtype);

      const FlatParameters flat(stage, {.grad_dtype = grad_dtype});

      for (const StageParameter& parameter : stage) {
        for (const at::Tensor& tensor : {parameter.tensor.detach(), parameter.tensor.grad()}) {
          const bool begins_at_a_pack = reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 16 == 0;
          EXPECT_EQ(begins_at_a_pack, parameter.name != "a.k_proj.weight") << parameter.name << " " << dtype;
        }
      }
      EXPECT_EQ(end_of(stage[1].tensor), stage[2].tensor.data_ptr());
      EXPECT_EQ(flat.num_elements(), 7 + 15 + 9 + 5 + 1 + 32 + 18 + 18 + 1);
    }
  }
}

// What is in no parameter, as elements of the family.
std::int64_t not_zero_in_gaps(const FlatParameters& flat, const at::Tensor& of_family) {
  at::Tensor left = of_family.clone();
  for (std::size_t i = 0; i < flat.parameters().size(); ++i) {
    const FlatSegment& segment = flat.segment_of(i);
    left.narrow(0, segment.begin, segment.count).zero_();
  }
  return left.count_nonzero().item<std::int64_t>();
}

// Each parameter in buffers of its own has no gaps.
TEST(FlatParameters, HaveGapsThatAreInNoNormNoUpdateAndNoState) {
  const OptimizerOptions options = AdamWOptions{.lr = 0.1, .weight_decay = 0.3};
  const auto stage = odd_stage(at::kFloat), alone = odd_stage(at::kFloat);
  const FlatParameters flat(stage, {});
  const auto together = make_optimizer(options, flat);
  double norm = 0;
  std::vector<FlatParameters> parts;
  for (const StageParameter& parameter : alone) parts.push_back(FlatParameters({parameter}, {}));
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  for (const FlatParameters& part : parts) optimizers.push_back(make_optimizer(options, part));

  for (int step = 1; step <= 3; ++step) {
    norm = 0;
    for (std::size_t i = 0; i < stage.size(); ++i) {
      const at::Tensor gradient = wave(stage[i].name, stage[i].layout.global_shape(), step);
      stage[i].tensor.mutable_grad().copy_(gradient);
      alone[i].tensor.mutable_grad().copy_(gradient);
      norm += share_of_norm(parts[i].buckets()[0], NormType::l2);
    }
    EXPECT_NEAR(share_of_norm(flat.buckets()[0], NormType::l2), norm, 1e-6 * norm);  // adds in fp32
    together->step({.lr_multiplier = 1, .grad = 1});
    for (const auto& optimizer : optimizers) optimizer->step({.lr_multiplier = 1, .grad = 1});
  }

  EXPECT_GT(flat.families()[0].data.numel(), flat.num_elements());
  EXPECT_EQ(not_zero_in_gaps(flat, flat.families()[0].data), 0);
  EXPECT_EQ(not_zero_in_gaps(flat, flat.families()[0].grad), 0);
  for (std::size_t i = 0; i < stage.size(); ++i)
    EXPECT_TRUE(at::equal(stage[i].tensor, alone[i].tensor)) << stage[i].name;
  // What a checkpoint gets: each kind of state in the parameter's shape.
  std::int64_t saved = 0;
  for (const StateEntry& entry : together->state_entries()) {
    EXPECT_EQ(entry.tensor.sizes().vec(), entry.layout->local_slice().shape())
        << entry.kind << " " << entry.name;
    saved += saved_values(entry).numel();
  }
  EXPECT_EQ(saved, 3 * flat.num_elements());
}

TEST(FlatParameters, NumberBucketsFromTheLastParameterAndNeverCutAModule) {
  const auto stage = attention_stage();

  const FlatParameters flat(stage, {.bucket_bytes = 40 * 4});

  std::vector<std::vector<std::size_t>> members;
  for (const GradientBucket& bucket : flat.buckets()) {
    members.emplace_back();
    for (const FlatSegment& segment : bucket.segments) members.back().push_back(segment.parameter);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bucket.grad.data_ptr()) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bucket.data.data_ptr()) % 64, 0U);
  }
  EXPECT_THAT(members, ElementsAre(ElementsAre(4, 5), ElementsAre(1, 2, 3), ElementsAre(0)));
  EXPECT_EQ(flat.bucket_of(5), 0);
  EXPECT_EQ(flat.bucket_of(0), 2);
}

TEST(FlatParameters, CutASmallFamilyIntoAsManyBucketsAsWanted) {
  constexpr std::int64_t elements_of_mib = std::int64_t{1} << 18;  // in elements
  const auto buckets_of = [](int weights, std::int64_t wanted) {
    std::vector<StageParameter> stage;
    for (int i = 0; i < weights; ++i) {
      const std::string name = "layer." + std::to_string(i) + ".linear.weight";
      stage.push_back(make_parameter(name, Layout::local({elements_of_mib}), at::kFloat));
    }
    return FlatParameters(std::move(stage), {.bucket_bytes = 4 << 20, .wanted_buckets = wanted})
        .buckets()
        .size();
  };

  EXPECT_EQ(buckets_of(8, 1), 2);  // of 4 MiB
  EXPECT_EQ(buckets_of(8, 4), 4);
  EXPECT_EQ(buckets_of(8, 64), 8);  // none below a MiB
  EXPECT_EQ(buckets_of(32, 4), 8);  // none above the limit
}

TEST(FlatParameters, LetAutogradAddIntoTheBuffers) {
  const auto stage = attention_stage();
  const FlatParameters flat(stage, {});
  const at::Tensor x = at::ones({2, 3});

  for (int microbatch = 0; microbatch < 3; ++microbatch) at::linear(x, stage[1].tensor).sum().backward();

  const FlatSegment& segment = flat.segment_of(1);
  const at::Tensor in_buffer = flat.families()[0].grad.narrow(0, segment.begin, segment.count);
  EXPECT_TRUE(at::equal(in_buffer, at::ones({15}).mul(6)));
  EXPECT_EQ(stage[1].tensor.grad().data_ptr(), in_buffer.data_ptr());
}

TEST(FlatParameters, SumGradientsInTheTypeThatIsAsked) {
  const std::vector<StageParameter> stage{make_parameter("a.b.weight", Layout::local({4, 4}), at::kBFloat16)};
  const FlatParameters flat(stage, {.grad_dtype = at::kFloat});
  const at::Tensor x = at::ones({1, 4}, at::kBFloat16).mul(1.0 / 256);

  // In bf16 the sum would stop growing: 1 + 1/256 rounds to 1.
  for (int i = 0; i < 300; ++i) at::linear(x, stage[0].tensor).sum().backward();

  EXPECT_EQ(flat.families()[0].grad.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(flat.families()[0].grad, at::ones({16}).mul(300.0 / 256)));
}

TEST(FlatParameters, SumGradientsOf16BitsInFp32UnlessOtherwiseAsked) {
  const auto type_of_sums = [](at::ScalarType dtype, const FlatOptions& options) {
    return FlatParameters({make_parameter("a.b.weight", Layout::local({4, 4}), dtype)}, options)
        .families()[0]
        .grad.scalar_type();
  };

  EXPECT_EQ(type_of_sums(at::kBFloat16, {}), at::kFloat);
  EXPECT_EQ(type_of_sums(at::kHalf, {}), at::kFloat);
  EXPECT_EQ(type_of_sums(at::kFloat, {}), at::kFloat);
  EXPECT_EQ(type_of_sums(at::kDouble, {}), at::kDouble);
  EXPECT_EQ(type_of_sums(at::kBFloat16, {.grad_dtype = at::kBFloat16}), at::kBFloat16);
}

// Autograd adds up the uses of a leaf by itself: in bf16 1 + 1/256 rounds to 1.
TEST(FlatParameters, SumTheUsesOfAWeightInOneBackwardPassInTheTypeOfTheBuffer) {
  const std::vector<StageParameter> stage{make_parameter("a.b.weight", Layout::local({4, 4}), at::kBFloat16)};
  const FlatParameters flat(stage, {});
  const at::Tensor x = at::ones({1, 4}, at::kBFloat16).mul(1.0 / 256);

  std::vector<at::Tensor> uses;
  for (int i = 0; i < 300; ++i) uses.push_back(at::linear(x, stage[0].tensor).sum());
  at::stack(uses).sum().backward();

  EXPECT_TRUE(at::equal(flat.families()[0].grad, at::ones({16}).mul(300.0 / 256)));
}

TEST(FlatParameters, LeaveFrozenParametersAlone) {
  auto stage = attention_stage();
  stage[1].tensor.requires_grad_(false);
  const void* const before = stage[1].tensor.data_ptr();

  const FlatParameters flat(stage, {});

  EXPECT_EQ(stage[1].tensor.data_ptr(), before);
  EXPECT_EQ(flat.bucket_of(1), -1);
  EXPECT_THROW(flat.segment_of(1), Error);
}

TEST(FlatParameters, PartParametersByWhatTheirGradientsAreSummedOver) {
  const std::vector<StageParameter> stage{
      make_parameter("dense.w", Layout({4}, {replicated("dp_replicate", 2, 1), replicated("tp", 2, 0)}),
                     at::kFloat),
      make_parameter("expert.w",
                     Layout({4, 2}, {replicated("ep_replicate", 2, 0), sharded("ep_shard", 2, 1, 0)}),
                     at::kFloat),
      make_parameter("sharded.w", Layout({4}, {sharded("dp_cp_shard", 2, 1, 0)}), at::kFloat)};

  const FlatParameters flat(stage, {});

  EXPECT_THAT(flat.buckets()[0].reduce_axes, ElementsAre("dp_replicate"));
  EXPECT_THAT(flat.buckets()[1].reduce_axes, ElementsAre("ep_replicate"));
  EXPECT_EQ(flat.buckets()[0].replicas, 4);  // tp holds the same, but is not summed over
  EXPECT_EQ(flat.buckets()[0].replica, 2);
  EXPECT_TRUE(flat.buckets()[2].reduce_axes.empty());
}

TEST(FlatParameters, RefuseATensorThatIsNotItsLayoutsBlock) {
  std::vector<StageParameter> stage{make_parameter("a.b", {4})};
  stage[0].layout = Layout::local({5});

  EXPECT_THROW(FlatParameters(stage, {}), Error);
}

TEST(FlatParameters, OfAStageWithoutParametersAreEmpty) {
  const FlatParameters flat({}, {});

  EXPECT_TRUE(flat.buckets().empty());
  EXPECT_EQ(flat.num_elements(), 0);
}

}  // namespace
}  // namespace d9d
