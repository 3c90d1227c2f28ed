// A step of several ranks whose delayed devices are joined by NCCL's communicators, or are one device: the bits of the same
// mesh of the CPU in every order of work, and an error with the group's name where a collective does not end.
#include <gmock/gmock.h>

#include <atomic>

#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/devices/delayed/nccl/emulated.hpp"
#include "tests/runtime/rank/delayed_case.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/meshes.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using NcclMesh = DeviceMeshParameters;

// Hosts do not wait for devices inside of actions, but once a layer for the counts of what experts get.
void expect_no_waits_in_actions(bool has_experts) {
  for (const auto& [where, count] : HostWaits::take()) {
    const auto& [place, reason] = where;
    const bool of_experts = has_experts && place == "F" && reason == "counts of tokens";
    EXPECT_FALSE(in_action(place) && !of_experts) << reason << " waits " << count << " times in " << place;
  }
}

// With NCCL in two orders of work, and in another two with as many devices as `shared` says.
void expect_bits_with_nccl(ParallelCase given, int shared = 1) {
  SCOPED_TRACE(text_of(given.mesh));
  const Trained expected = train_once(given);
  given.delayed = true;
  for (const bool nccl : {true, false}) {
    given.nccl = nccl;
    given.devices = nccl ? 0 : shared;
    for (const std::uint64_t seed : {11, 12}) {
      SCOPED_TRACE(::testing::Message() << (nccl ? "nccl" : "shared devices") << ", seed " << seed);
      for (int rank = 0; rank < given.mesh.world_size(); ++rank) delayed::machine(rank).reseed(seed);
      HostWaits::take();

      const Trained trained = train_once(given);

      expect_no_waits_in_actions(given.mesh.expert_parallel > 1);
      expect_same_bits(trained, expected);
    }
  }
}

TEST(NcclMesh, ReplicasAndShardsOfParametersHaveTheBitsOfTheCpu) {
  expect_bits_with_nccl(case_of({.data_parallel_replicate = 2}));
  expect_bits_with_nccl(case_of({.data_parallel_replicate = 4}, Qwen3Kind::moe), 2);
  for (const bool zero1 : {false, true}) {
    ParallelCase given = case_of({.data_parallel_shard = 2});
    given.options.zero1 = zero1;
    expect_bits_with_nccl(given);
  }
  ParallelCase given = case_of({.data_parallel_replicate = 2, .data_parallel_shard = 2}, Qwen3Kind::moe);
  given.options.fully_shard.reduce = ReducePeriod::microbatch;
  given.enable_checkpointing = true;
  expect_bits_with_nccl(given, 2);
}

TEST(NcclMesh, ShardsOfLayersAndSequencesHaveTheBitsOfTheCpu) {
  expect_bits_with_nccl(case_of({.tensor_parallel = 2}));
  expect_bits_with_nccl(case_of({.data_parallel_shard = 2, .tensor_parallel = 2}, Qwen3Kind::moe), 2);
  for (const ContextAttention attention : {ContextAttention::ring, ContextAttention::ulysses}) {
    ParallelCase given = case_of({.context_parallel_shard = 2});
    given.options.context = {attention, TokenOrder::zigzag};
    expect_bits_with_nccl(given);
  }
}

TEST(NcclMesh, ShardsOfExpertsHaveTheBitsOfTheCpu) {
  expect_bits_with_nccl(case_of({.data_parallel_replicate = 2, .expert_parallel = 2}, Qwen3Kind::moe));
  expect_bits_with_nccl(case_of({.pipeline_parallel = 2, .data_parallel_shard = 2, .expert_parallel = 2},
                                Qwen3Kind::moe, OneFOneBSchedule{1, true}),
                        3);
}

TEST(NcclMesh, PipelinesHaveTheBitsOfTheCpu) {
  expect_bits_with_nccl(case_of({.pipeline_parallel = 2, .data_parallel_replicate = 2}, Qwen3Kind::dense,
                                OneFOneBSchedule{2, true}));
  // Composed actions, which the CPU runs on two threads.
  ParallelCase composed =
      case_of({.pipeline_parallel = 2, .tensor_parallel = 2}, Qwen3Kind::dense, DualPipeVSchedule{});
  composed.microbatches = 4;
  expect_bits_with_nccl(composed, 2);
  ParallelCase tied = case_of({.pipeline_parallel = 2, .data_parallel_shard = 2});
  tied.model.tie_word_embeddings = true;
  expect_bits_with_nccl(tied);
}

// How many NCCL communicators the ranks of a step connect, by their ranks.
std::atomic<int>& connected() {
  static std::atomic<int> by_all = 0;
  return by_all;
}
int communicators_of_a_rank(ParallelCase given) {
  static const nccl::Api counting = [] {
    nccl::Api api = nccl::emulated_nccl();
    api.init = [](nccl::Comm* comm, int size, const nccl::UniqueId& id, int rank) {
      ++connected();
      return nccl::emulated_nccl().init(comm, size, id, rank);
    };
    return api;
  }();
  given.delayed = given.nccl = true;
  given.nccl_table = &counting;
  connected() = 0;
  train_once(given);
  EXPECT_EQ(connected() % given.mesh.world_size(), 0);
  return connected() / given.mesh.world_size();
}

// Gathers and gradients of the same ranks have one; layers have their own.
TEST(NcclMesh, ConnectsOneCommunicatorForAllThatIsBesideComputeOnTheSameRanks) {
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_replicate = 2})), 1);  // 2: dense, experts
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_shard = 2})), 1);      // 5: gather, and gradients
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_shard = 4}, Qwen3Kind::moe)), 1);
  // Shards, their replicas, and all ranks.
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_replicate = 2, .data_parallel_shard = 2})), 3);
  // Layers; gathers and gradients of tensor-parallel blocks; what is in no block; all ranks.
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_shard = 2, .tensor_parallel = 2})), 4);
  // Experts are exchanged over the ranks that gather, but beside them.
  EXPECT_EQ(
      communicators_of_a_rank(case_of({.data_parallel_shard = 2, .expert_parallel = 2}, Qwen3Kind::moe)), 2);
}

TEST(NcclMesh, EndsAStepWhoseCollectiveDoesNot) {
  for (const NcclMesh& mesh : {NcclMesh{.data_parallel_replicate = 2}, NcclMesh{.data_parallel_shard = 2},
                               NcclMesh{.tensor_parallel = 2}}) {
    ParallelCase given = case_of(mesh);
    given.delayed = given.nccl = true;
    given.timeout = std::chrono::milliseconds(400);
    using Kind = nccl::EmulatedFault::Kind;
    for (const Kind kind : {Kind::hang, Kind::error}) {
      nccl::plant_fault(nccl::EmulatedFault{kind, 1, 1});

      const std::string error = error_of([&] { train_once(given); }, ErrorKind::environment);

      EXPECT_THAT(error, AllOf(HasSubstr("(nccl)"), HasSubstr("[0,1]")));
    }
  }
  nccl::plant_fault({});
}

}  // namespace
}  // namespace d9d::test
