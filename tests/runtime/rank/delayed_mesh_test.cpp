// A step of several ranks, each with a delayed device of its own: the bits of the same mesh of the CPU in every order
// of work, and hosts that do not wait for devices inside of actions.
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/runtime/rank/delayed_case.hpp"
#include "tests/support/meshes.hpp"

namespace d9d::test {
namespace {

using Mesh = DeviceMeshParameters;

ParallelCase mesh_case(Mesh mesh, Qwen3Kind kind = Qwen3Kind::dense,
                       ScheduleConfig schedule = GpipeSchedule{}) {
  ParallelCase given = case_of(mesh, kind, std::move(schedule));
  given.microbatches = 8 / mesh.data_parallel() >= 4 ? 4 : 2;
  return given;
}

// So many orders for each mesh.
std::uint64_t num_seeds() {
  return std::getenv("D9D_NIGHT") == nullptr ? 2 : 50;
}

// `forward_waits`: how often the ranks may wait in their F together, for the counts of what experts get.
void expect_bits_of_cpu(ParallelCase given, std::uint64_t forward_waits = 0) {
  SCOPED_TRACE(text_of(given.mesh));
  const Trained expected = train_once(given);
  given.delayed = true;
  for (std::uint64_t seed = 0; seed < num_seeds(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    for (int rank = 0; rank < given.mesh.world_size(); ++rank) delayed::machine(rank).reseed(seed + 1);
    HostWaits::take();

    const Trained trained = train_once(given);

    std::uint64_t in_forward = 0;
    const HostWaits::Counts waits = HostWaits::take();
    EXPECT_EQ(HostWaits::in(waits, "step end"), static_cast<std::uint64_t>(given.mesh.world_size()));
    EXPECT_EQ(HostWaits::in(waits, "gradients"), 0U);
    for (const auto& [where, count] : waits) {
      if (where.first == "F" && where.second == "counts of tokens") {
        in_forward += count;
      } else {
        EXPECT_FALSE(in_action(where.first))
            << where.second << " waits " << count << " times in " << where.first;
      }
    }
    EXPECT_LE(in_forward, forward_waits);
    expect_same_bits(trained, expected);
  }
}

TEST(DelayedMesh, PipelinesHaveTheBitsOfTheCpu) {
  const Mesh two{.pipeline_parallel = 2}, four{.pipeline_parallel = 4};
  const Qwen3Kind dense = Qwen3Kind::dense;
  expect_bits_of_cpu(mesh_case(two));
  expect_bits_of_cpu(mesh_case(two, dense, OneFOneBSchedule{1, true}));
  expect_bits_of_cpu(mesh_case(two, dense, OneFOneBSchedule{2}));
  expect_bits_of_cpu(mesh_case(two, Qwen3Kind::moe, ZeroBubbleVSchedule{}));
  expect_bits_of_cpu(mesh_case(two, dense, DualPipeVSchedule{}));
  expect_bits_of_cpu(mesh_case(four, dense, OneFOneBSchedule{1, true}));
}

TEST(DelayedMesh, ReplicasHaveTheBitsOfTheCpu) {
  expect_bits_of_cpu(mesh_case({.data_parallel_replicate = 2}));
  expect_bits_of_cpu(mesh_case({.data_parallel_replicate = 4}, Qwen3Kind::moe));
  expect_bits_of_cpu(mesh_case({.pipeline_parallel = 2, .data_parallel_replicate = 2}, Qwen3Kind::dense,
                               OneFOneBSchedule{2, true}));
}

TEST(DelayedMesh, ShardsOfParametersHaveTheBitsOfTheCpu) {
  for (const ReshardAfterForward reshard : {ReshardAfterForward::always, ReshardAfterForward::never}) {
    for (const bool zero1 : {false, true}) {
      ParallelCase given = mesh_case({.data_parallel_shard = 2});
      given.options.fully_shard.reshard_after_forward = reshard;
      given.options.zero1 = zero1;
      expect_bits_of_cpu(given);
    }
  }
  ParallelCase given = mesh_case({.data_parallel_replicate = 2, .data_parallel_shard = 2}, Qwen3Kind::moe);
  given.options.fully_shard.reduce = ReducePeriod::microbatch;
  given.enable_checkpointing = true;
  expect_bits_of_cpu(given);
  expect_bits_of_cpu(mesh_case({.pipeline_parallel = 2, .data_parallel_shard = 2}, Qwen3Kind::dense,
                               OneFOneBSchedule{1, true}));
}

TEST(DelayedMesh, TensorParallelRanksHaveTheBitsOfTheCpu) {
  expect_bits_of_cpu(mesh_case({.tensor_parallel = 2}));
  expect_bits_of_cpu(mesh_case({.data_parallel_shard = 2, .tensor_parallel = 2}, Qwen3Kind::moe));
  expect_bits_of_cpu(
      mesh_case({.pipeline_parallel = 2, .tensor_parallel = 2}, Qwen3Kind::dense, OneFOneBSchedule{2, true}));
}

TEST(DelayedMesh, ShardsOfSequencesHaveTheBitsOfTheCpu) {
  for (const ContextAttention attention : {ContextAttention::ring, ContextAttention::ulysses}) {
    for (const TokenOrder order : {TokenOrder::zigzag, TokenOrder::contiguous}) {
      ParallelCase given = mesh_case({.context_parallel_shard = 2});
      given.options.context = {attention, order};
      expect_bits_of_cpu(given);
    }
  }
  expect_bits_of_cpu(mesh_case({.context_parallel_replicate = 2, .tensor_parallel = 2}));
}

// A rank has to know where the tokens of a layer go.
TEST(DelayedMesh, ShardsOfExpertsHaveTheBitsOfTheCpu) {
  const auto once_a_layer = [](const ParallelCase& given) {
    return static_cast<std::uint64_t>(given.model.num_hidden_layers * given.microbatches *
                                      given.mesh.stage_size());
  };
  const std::vector<Mesh> meshes{{.data_parallel_replicate = 2, .expert_parallel = 2},
                                 {.data_parallel_shard = 4, .expert_parallel = 2},
                                 {.tensor_parallel = 2, .expert_parallel = 2},
                                 {.pipeline_parallel = 2, .data_parallel_shard = 2, .expert_parallel = 2}};
  for (const Mesh& mesh : meshes) {
    const ParallelCase given = mesh_case(mesh, Qwen3Kind::moe, OneFOneBSchedule{1, true});
    expect_bits_of_cpu(given, once_a_layer(given));
  }
}

TEST(DelayedMesh, RanksThatOffloadLayersHaveTheBitsOfTheCpu) {
  const Mesh meshes[] = {{.pipeline_parallel = 2},
                         {.data_parallel_shard = 2},
                         {.tensor_parallel = 2},
                         {.context_parallel_shard = 2}};
  for (const Mesh& mesh : meshes) {
    ParallelCase given = mesh_case(mesh, Qwen3Kind::dense, OneFOneBSchedule{1, true});
    given.model.num_hidden_layers = 4;
    given.offload_layers = 3;
    expect_bits_of_cpu(given);
  }
  ParallelCase experts = mesh_case({.data_parallel_replicate = 2, .expert_parallel = 2}, Qwen3Kind::moe);
  experts.offload_layers = 1;
  expect_bits_of_cpu(experts, static_cast<std::uint64_t>(2 * 2 * experts.microbatches));
}

}  // namespace
}  // namespace d9d::test
