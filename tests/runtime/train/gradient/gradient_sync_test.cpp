// Gradients of replicas: when they are reduced, what comes out, and the norm over any placement.
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/train/gradient/gradient_norm.hpp"
#include "runtime/train/gradient/gradient_sync.hpp"
#include "tests/runtime/train/stage_of.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/reduce_scalars.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Layout replica_layout(std::vector<std::int64_t> shape, int size, int index) {
  return Layout(std::move(shape), {replicated("dp_replicate", size, index)});
}

std::vector<StageParameter> two_layers(int replicas, int replica) {
  return {make_parameter("a.first.weight", replica_layout({9, 5}, replicas, replica), at::kFloat),
          make_parameter("b.second.weight", replica_layout({3, 9}, replicas, replica), at::kFloat),
          make_parameter("c.unused.weight", replica_layout({7}, replicas, replica), at::kFloat)};
}

void run_ranks(int ranks, const std::function<void(int, Communicator&)>& work) {
  SharedMemoryHub hub;
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  test::in_threads(ranks, [&](int rank) {
    const auto group = hub.open({"all", all, rank, true}, std::chrono::seconds(10));
    work(rank, *group);
    group->barrier();
  });
}

void backward(const std::vector<StageParameter>& stage, const at::Tensor& samples) {
  at::linear(at::linear(samples, stage[0].tensor).tanh(), stage[1].tensor).square().sum().backward();
}

TEST(GradientSync, AsksForBucketsInOneOrderWhateverCompletesFirst) {
  const FlatParameters flat(two_layers(2, 0), {.bucket_bytes = 1});
  GradientSync sync(flat);

  EXPECT_THAT(sync.mark_complete(0), IsEmpty());       // bucket 2
  EXPECT_THAT(sync.mark_complete(2), ElementsAre(0));  // bucket 0
  EXPECT_EQ(sync.pending(), 1);
  EXPECT_THAT(sync.incomplete(5), ElementsAre("b.second.weight"));
  EXPECT_THAT(sync.mark_complete(1), ElementsAre(1, 2));  // and what waited behind it

  sync.begin_step();
  EXPECT_THAT(sync.mark_complete(2), ElementsAre(0));
}

TEST(GradientSync, AsksForABucketWhenItsLastParameterIsComplete) {
  const FlatParameters flat(two_layers(2, 0), {});
  GradientSync sync(flat);

  EXPECT_THAT(sync.mark_complete(2), IsEmpty());
  EXPECT_THAT(sync.mark_complete(0), IsEmpty());
  EXPECT_THAT(sync.mark_complete(1), ElementsAre(0));
}

TEST(GradientSync, NeverAsksForWhatIsNotReplicated) {
  const FlatParameters flat({make_parameter("a.b", {3})}, {});
  GradientSync sync(flat);

  EXPECT_THAT(sync.mark_complete(0), IsEmpty());
  EXPECT_EQ(sync.pending(), 0);
}

// Answers only what GradientSync asks.
class FakeUnit final : public ShardedUnit {
 public:
  explicit FakeUnit(bool each_microbatch) : each_microbatch_(each_microbatch) {}
  const std::vector<std::string>& axes() const override { return axes_; }
  std::uint64_t gradient_bytes() const override { return 0; }
  bool reduces_each_microbatch() const override { return each_microbatch_; }
  bool gathers_again() const override { return false; }
  void attach() override {}
  void before_weight_job(bool /*reads*/) override {}
  void zero_gradient() override {}
  void hand_over_gradient(bool /*last*/) override {}
  void end_action() override {}
  void end_step() override {}
  void after_update() override {}
  bool reduce_gradient(at::Tensor /*shard_gradient*/, Communicator& /*group*/) override { return true; }

 private:
  const bool each_microbatch_;
  const std::vector<std::string> axes_{"dp_cp_shard"};
};

std::vector<StageParameter> in_units(bool each_microbatch) {
  std::vector<StageParameter> stage = two_layers(2, 0);
  stage[0].unit = stage[1].unit = std::make_shared<FakeUnit>(each_microbatch);
  return stage;
}

TEST(GradientSync, KeepsAUnitTogetherAndApartFromTheRest) {
  const FlatParameters flat(in_units(false), {.bucket_bytes = 1});
  GradientSync sync(flat);

  EXPECT_EQ(flat.bucket_of(0), flat.bucket_of(1));
  EXPECT_NE(flat.families()[0].data.data_ptr(), flat.families()[1].data.data_ptr());
  EXPECT_THAT(sync.mark_complete(0), IsEmpty());
  EXPECT_THAT(sync.mark_complete(1), ElementsAre(flat.bucket_of(0)));
  EXPECT_THAT(sync.mark_complete(2), ElementsAre(flat.bucket_of(2)));
}

TEST(GradientSync, AsksForAUnitAfterEachMicrobatchWhereItIsReducedThen) {
  const FlatParameters flat(in_units(true), {});
  GradientSync sync(flat);

  for (const bool last : {false, false, true}) {
    EXPECT_THAT(sync.mark_complete(1, last), IsEmpty());
    EXPECT_THAT(sync.mark_complete(0, last), ElementsAre(flat.bucket_of(0)));
  }
  EXPECT_THAT(sync.mark_complete(2, false), IsEmpty());  // no unit: only the step counts
  EXPECT_THAT(sync.mark_complete(2, true), ElementsAre(flat.bucket_of(2)));
  EXPECT_EQ(sync.pending(), 0);
  EXPECT_THROW(sync.mark_complete(0, true), Error);
}

TEST(GradientSync, RefusesAParameterThatCompletesTwice) {
  const FlatParameters flat(two_layers(2, 0), {});
  GradientSync sync(flat);
  sync.mark_complete(0);

  EXPECT_THROW(sync.mark_complete(0), Error);
}

TEST(GradientSync, GivesReplicasTheGradientOfTheWholeBatch) {
  const at::Tensor samples = wave("samples", {12, 5});
  const auto alone = two_layers(1, 0);
  const FlatParameters whole(alone, {});
  backward(alone, samples);

  run_ranks(3, [&](int rank, Communicator& group) {
    const auto stage = two_layers(3, rank);
    const FlatParameters flat(stage, {.bucket_bytes = 100});
    backward(stage, samples.narrow(0, rank * 4, 4));

    for (const GradientBucket& bucket : flat.buckets()) reduce_gradients(bucket, group);

    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(at::allclose(stage[i].tensor.grad(), alone[i].tensor.grad(), 1e-5, 1e-6));
    }
    EXPECT_TRUE(at::equal(stage[2].tensor.grad(), at::zeros({7})));
  });
}

// What a rank of a world of 2 pipeline stages x 2 replicas x 2 tensor ranks
// holds: of stage 0 a replicated matrix, one cut by columns (unevenly)
// over tp, and an expert cut over two axes at once; of stage 1 a vector.
std::vector<StageParameter> mixed_stage(int rank) {
  const int replica = rank / 2 % 2;
  const int tensor = rank % 2;
  if (rank / 4 == 1) {
    return {make_parameter(
        "head.w", Layout({13}, {replicated("dp_replicate", 2, replica), replicated("tp", 2, tensor)}),
        at::kFloat)};
  }
  return {
      make_parameter("norm.w",
                     Layout({6, 7}, {replicated("dp_replicate", 2, replica), replicated("tp", 2, tensor)}),
                     at::kFloat),
      make_parameter("column.w",
                     Layout({4, 5}, {replicated("dp_replicate", 2, replica), sharded("tp", 2, tensor, 1)}),
                     at::kFloat),
      make_parameter(
          "expert.w",
          Layout({5, 3}, {sharded("ep_replicate", 2, replica, 1), sharded("ep_shard", 2, tensor, 0)}),
          at::kFloat)};
}

void fill_gradients(const std::vector<StageParameter>& stage) {
  for (const StageParameter& parameter : stage) {
    const at::Tensor global = wave(parameter.name, parameter.layout.global_shape(), 5);
    parameter.tensor.mutable_grad().copy_(block_of(global, parameter.layout.local_slice()));
  }
}

TEST(GradientNorm, IsThatOfTheGlobalTensorsOnAnyPlacement) {
  double expected = 0;
  for (const auto& [name, shape] : std::vector<std::pair<std::string, std::vector<std::int64_t>>>{
           {"norm.w", {6, 7}}, {"column.w", {4, 5}}, {"expert.w", {5, 3}}, {"head.w", {13}}}) {
    const at::Tensor gradient = wave(name, shape, 5).to(at::kDouble);
    expected += gradient.square().sum().item<double>();
  }

  run_ranks(8, [&](int rank, Communicator& world) {
    const auto stage = mixed_stage(rank);
    const FlatParameters flat(stage, {});
    fill_gradients(stage);
    double squares = 0;
    for (const GradientBucket& bucket : flat.buckets()) squares += share_of_norm(bucket, NormType::l2);

    EXPECT_NEAR(test::all_reduce_scalars(world, {squares})[0], expected, 1e-6 * expected);
  });
}

TEST(GradientNorm, OfInfinityIsTheLargestElementOfTheGlobalTensorsOnAnyPlacement) {
  run_ranks(8, [&](int rank, Communicator& world) {
    const auto stage = mixed_stage(rank);
    const FlatParameters flat(stage, {});
    fill_gradients(stage);
    if (rank / 4 == 0) stage[2].tensor.mutable_grad().mul_(-3);  // the expert's block of this rank alone
    double share = 0;
    for (const GradientBucket& bucket : flat.buckets())
      share = joined_shares(NormType::inf, share, share_of_norm(bucket, NormType::inf));

    const double expected = 3 * wave("expert.w", {5, 3}, 5).abs().max().item<double>();
    const double largest = test::all_reduce_scalars(world, {share}, ReduceOp::max)[0];
    EXPECT_FLOAT_EQ(norm_of_share(NormType::inf, largest), expected);
  });
}

TEST(GradientNorm, OfInfinityTakesNanForInfinityInEveryType) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const FlatParameters flat({make_parameter("a.b.c", Layout::local({70}), dtype)}, {});
    EXPECT_EQ(share_of_norm(flat.buckets()[0], NormType::inf), 0);
    flat.buckets()[0].grad[7] = -2.5;
    EXPECT_EQ(share_of_norm(flat.buckets()[0], NormType::inf), 2.5);

    flat.buckets()[0].grad[69] = std::nan("");

    EXPECT_EQ(share_of_norm(flat.buckets()[0], NormType::inf), std::numeric_limits<double>::infinity());
  }
}

TEST(GradientNorm, OfABucketWithOddSizesCountsEveryElementOnce) {
  double shares = 0;
  double whole = 0;
  for (int replica = 0; replica < 4; ++replica) {
    const FlatParameters flat({make_parameter("a.b.c", replica_layout({1001}, 4, replica), at::kFloat)}, {});
    fill_gradients(flat.parameters());
    shares += share_of_norm(flat.buckets()[0], NormType::l2);
    whole = flat.buckets()[0].grad.to(at::kDouble).square().sum().item<double>();
  }

  EXPECT_NEAR(shares, whole, 1e-7 * whole);
}

}  // namespace
}  // namespace d9d
