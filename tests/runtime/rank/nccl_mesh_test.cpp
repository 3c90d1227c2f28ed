// A step of several ranks whose delayed devices are joined by NCCL's communicators, or are one device: the bits of the
// same mesh of the CPU in every order of work, and an error with the group's name where a collective does not end.
#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

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

// Counts the launches of each communicator that is connected.
class LaunchCounts {
 public:
  static LaunchCounts& instance() {
    static LaunchCounts counts;
    return counts;
  }
  // The emulated functions, which are counted.
  static const nccl::Api& table() {
    static const nccl::Api api = counting();
    return api;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    launches_.clear();
  }
  void connected(nccl::Comm comm) {
    const std::lock_guard lock(mutex_);
    launches_.push_back({comm, 0});
  }
  // The last of this address: an emulated communicator that has ended may have had it before.
  void launched(nccl::Comm comm) {
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const auto& entry) { return entry.first == comm; };
    const auto found = std::find_if(launches_.rbegin(), launches_.rend(), is_it);
    ASSERT_NE(found, launches_.rend());
    ++found->second;
  }
  // By communicator, one entry for each of its ranks.
  std::vector<int> launches() {
    const std::lock_guard lock(mutex_);
    std::vector<int> counts;
    for (const auto& [comm, count] : launches_) counts.push_back(count);
    return counts;
  }

 private:
  static nccl::Api counting() {
    using c10::ScalarType;
    using nccl::Comm, nccl::Stream;
    nccl::Api api = nccl::emulated_nccl();
    api.init = [](Comm* comm, int size, const nccl::UniqueId& id, int rank) {
      const int result = nccl::emulated_nccl().init(comm, size, id, rank);
      instance().connected(*comm);
      return result;
    };
    api.all_reduce = [](void* data, std::size_t n, ScalarType type, ReduceOp op, Comm comm, Stream stream) {
      instance().launched(comm);
      return nccl::emulated_nccl().all_reduce(data, n, type, op, comm, stream);
    };
    api.reduce_scatter = [](const void* in, void* out, std::size_t n, ScalarType type, ReduceOp op, Comm comm,
                            Stream stream) {
      instance().launched(comm);
      return nccl::emulated_nccl().reduce_scatter(in, out, n, type, op, comm, stream);
    };
    api.all_gather = [](const void* in, void* out, std::size_t n, ScalarType type, Comm comm, Stream stream) {
      instance().launched(comm);
      return nccl::emulated_nccl().all_gather(in, out, n, type, comm, stream);
    };
    api.broadcast = [](void* data, std::size_t n, ScalarType type, int root, Comm comm, Stream stream) {
      instance().launched(comm);
      return nccl::emulated_nccl().broadcast(data, n, type, root, comm, stream);
    };
    api.send = [](const void* data, std::size_t n, ScalarType type, int peer, Comm comm, Stream stream) {
      instance().launched(comm);
      return nccl::emulated_nccl().send(data, n, type, peer, comm, stream);
    };
    api.receive = [](void* data, std::size_t n, ScalarType type, int peer, Comm comm, Stream stream) {
      instance().launched(comm);
      return nccl::emulated_nccl().receive(data, n, type, peer, comm, stream);
    };
    return api;
  }

  std::mutex mutex_;
  std::vector<std::pair<nccl::Comm, int>> launches_;
};

// How many NCCL communicators all ranks of a step connect. Each is called in that step.
int communicators_of_all(ParallelCase given) {
  SCOPED_TRACE(text_of(given.mesh));
  given.delayed = given.nccl = true;
  given.nccl_table = &LaunchCounts::table();
  LaunchCounts::instance().clear();
  train_once(given);
  const std::vector<int> launches = LaunchCounts::instance().launches();
  EXPECT_THAT(launches, testing::Each(testing::Gt(0)));
  return static_cast<int>(launches.size());
}
int communicators_of_a_rank(const ParallelCase& given) {
  const int all = communicators_of_all(given);
  EXPECT_EQ(all % given.mesh.world_size(), 0);
  return all / given.mesh.world_size();
}

// Gathers and gradients of the same ranks have one; layers have their own. In brackets: groups that are opened.
TEST(NcclMesh, ConnectsOneCommunicatorForAllThatIsBesideComputeOnTheSameRanks) {
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_replicate = 2})), 1);  // [2: dense, experts]
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_shard = 2})), 1);  // [5: gather, and gradients]
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_shard = 4}, Qwen3Kind::moe)), 1);
  // Shards, and their replicas.
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_replicate = 2, .data_parallel_shard = 2})), 2);
  // Layers; gathers and gradients of tensor-parallel blocks; what is in no block.
  EXPECT_EQ(communicators_of_a_rank(case_of({.data_parallel_shard = 2, .tensor_parallel = 2})), 3);
  // Experts are exchanged over the ranks that gather, but beside them.
  EXPECT_EQ(
      communicators_of_a_rank(case_of({.data_parallel_shard = 2, .expert_parallel = 2}, Qwen3Kind::moe)), 2);
}

// Every axis alone and with others, dense models and experts, adapters, tied tables, composed actions.
TEST(NcclMesh, CallsEveryCommunicatorThatItConnects) {
  for (const Qwen3Kind kind : {Qwen3Kind::dense, Qwen3Kind::moe}) {
    for (const NcclMesh& mesh :
         {NcclMesh{.pipeline_parallel = 2}, NcclMesh{.pipeline_parallel = 2, .data_parallel_replicate = 2},
          NcclMesh{.pipeline_parallel = 2, .data_parallel_shard = 2},
          NcclMesh{.pipeline_parallel = 2, .tensor_parallel = 2},
          NcclMesh{.data_parallel_replicate = 2, .tensor_parallel = 2}, NcclMesh{.data_parallel_shard = 4},
          NcclMesh{.data_parallel_replicate = 2, .data_parallel_shard = 2}, NcclMesh{.tensor_parallel = 4},
          NcclMesh{.context_parallel_shard = 2}, NcclMesh{.context_parallel_replicate = 2},
          NcclMesh{.data_parallel_shard = 2, .context_parallel_shard = 2},
          NcclMesh{.context_parallel_shard = 2, .tensor_parallel = 2},
          NcclMesh{.data_parallel_replicate = 2, .data_parallel_shard = 2, .tensor_parallel = 2}})
      communicators_of_all(case_of(mesh, kind));
  }
  for (const NcclMesh& mesh :
       {NcclMesh{.data_parallel_replicate = 2, .expert_parallel = 2},
        NcclMesh{.data_parallel_replicate = 4, .expert_parallel = 2},
        NcclMesh{.data_parallel_shard = 4, .expert_parallel = 2},
        NcclMesh{.pipeline_parallel = 2, .data_parallel_shard = 2, .expert_parallel = 2}})
    communicators_of_all(case_of(mesh, Qwen3Kind::moe));

  ParallelCase zero1 = case_of({.data_parallel_replicate = 2}, Qwen3Kind::moe);
  zero1.options.zero1 = true;
  communicators_of_all(zero1);
  ParallelCase tied = case_of({.pipeline_parallel = 2, .data_parallel_shard = 2});
  tied.model.tie_word_embeddings = true;
  communicators_of_all(tied);
  ParallelCase composed =
      case_of({.pipeline_parallel = 2, .tensor_parallel = 2}, Qwen3Kind::dense, DualPipeVSchedule{});
  composed.microbatches = 4;
  communicators_of_all(composed);
}

// Two lanes of composed actions have a communicator each, and both call.
TEST(NcclMesh, CallsTheCommunicatorsOfBothLanes) {
  ParallelCase given =
      case_of({.pipeline_parallel = 2, .tensor_parallel = 2}, Qwen3Kind::dense, DualPipeVSchedule{});
  given.microbatches = 4;
  given.overlap = Overlap::always;
  communicators_of_all(given);
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
