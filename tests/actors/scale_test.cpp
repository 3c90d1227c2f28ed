// Thousands of virtual ranks: what a job computes about itself before anything runs. How long
// that takes is measured, not tested: tests/bench/planning_cost.hpp.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "actors/job/cast/cast.hpp"
#include "actors/job/cast/rank_cast.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"
#include "runtime/plugin/builtins.hpp"
#include "tests/actors/job/process_of_a_test.hpp"
#include "tests/support/peer_transfers.hpp"

namespace d9d {
namespace {

constexpr int pipeline_ranks = 64;
constexpr int replicas = 64;
constexpr int num_ranks = pipeline_ranks * replicas;
constexpr int ranks_of_a_node = 8;
constexpr int num_microbatches = 128;

class Scale : public ::testing::Test {
 protected:
  static Plan big_plan() {
    DeviceMeshParameters mesh;
    mesh.pipeline_parallel = pipeline_ranks;
    mesh.data_parallel_replicate = replicas;
    return {mesh, std::vector<int>(num_ranks / ranks_of_a_node, ranks_of_a_node)};
  }
};

TEST_F(Scale, PlacesFourThousandRanksAndFindsTheirGroups) {
  const Plan plan = big_plan();

  std::map<std::string, std::set<int>> members;  // by group
  for (int rank = 0; rank < num_ranks; ++rank) {
    const RankPlacement& place = plan.placement(rank);
    ASSERT_EQ(place.node * ranks_of_a_node + place.local_index, rank);
    ASSERT_EQ(place.pipeline * replicas + place.data, rank);
    for (const Group& group : plan.groups_of(rank)) {
      ASSERT_EQ(group.ranks[static_cast<std::size_t>(group.index)], rank) << group.name;
      members[group.name].insert(rank);
    }
  }
  std::map<std::size_t, std::size_t> groups_by_size;
  for (const auto& [name, ranks] : members) ++groups_by_size[ranks.size()];
  EXPECT_EQ(groups_by_size[num_ranks], 1U);
  EXPECT_GE(groups_by_size[64], std::size_t{pipeline_ranks + replicas});
  EXPECT_EQ(groups_by_size.size(), 2U) << "every group has 64 or all ranks";
}

TEST_F(Scale, BuildsProvesAndSimulatesTheProgramsOfSixtyFourStagesAndMore) {
  for (const ScheduleConfig& config :
       {ScheduleConfig{OneFOneBSchedule{}}, {OneFOneBSchedule{1, true}}, {ZeroBubbleVSchedule{}}}) {
    const PipelineProgram program = build_program(config, pipeline_ranks, num_microbatches);
    const Simulation result = simulate(program.compute, program.topology, unit_costs(program.topology));

    EXPECT_LT(result.bubble, 0.34) << name_of(config);
    std::map<std::pair<int, int>, std::size_t> sent, received;
    for (int rank = 0; rank < pipeline_ranks; ++rank) {
      for (const auto& [peer, transfers] : test::transfers_of(program, rank)) {
        sent[{rank, peer}] = transfers.sends.size();
        received[{peer, rank}] = transfers.receives.size();
      }
    }
    EXPECT_EQ(sent, received) << name_of(config);
  }
}

TEST_F(Scale, CastsTheActorsOfFourThousandRanks) {
  ProcessOfATest process({"mesh.pipeline_parallel=64", "mesh.data_parallel_replicate=64",
                          "model_provider.model.num_hidden_layers=64",
                          "trainer.batching={global_batch_size: 8192, microbatch_size: 1}"});
  PreparedJob& prepared = process.prepared;
  prepared.registry = builtin_registry(process.loaded, process.disk);
  prepared.model = make_model(prepared.registry, process.loaded.job);
  prepared.optimizer = make_optimizer(prepared.registry, process.loaded.job);
  prepared.lr_schedule = make_lr_schedule(prepared.registry, process.loaded.job);
  const std::vector<int> ranks_per_node = big_plan().ranks_per_node();
  EpochServices epoch(process.services, {.ranks_per_node = ranks_per_node,
                                         .addresses = std::vector<HostPort>(ranks_per_node.size())});
  const AddressBook::NodeOf node_of = node_of_plan(epoch.plan());

  std::set<ActorId> cast;
  std::map<Role, int> roles;
  for (int rank = 0; rank < num_ranks; ++rank) {
    for (const CastMember& member : make_rank_cast(process.services, epoch, ResumedState(), rank)) {
      ASSERT_TRUE(cast.insert(member.id).second) << to_string(member.id) << " twice";
      ASSERT_EQ(rank_of(member.id), rank) << to_string(member.id);
      ASSERT_EQ(member.threading, Threading::own_thread) << to_string(member.id) << ": users' code may block";
      ASSERT_EQ(node_of(member.id), rank / ranks_of_a_node) << to_string(member.id);
      ++roles[member.id.role];
    }
  }

  for (const Role role : {Role::rank_executor, Role::trainer, Role::loader, Role::metric_collector}) {
    EXPECT_EQ(roles[role], num_ranks);
  }
  EXPECT_EQ(roles[Role::collective], 4 * num_ranks);  // step, metrics, gradients of layers and of experts
  // Neighbours on pp are on different nodes: two ways, two ends each, 63 boundaries of 64 pipelines.
  EXPECT_EQ(roles[Role::tensor_lane], 2 * 2 * (pipeline_ranks - 1) * replicas);
  for (const ActorId id : cast) {
    if (id.role != Role::tensor_lane) continue;
    EXPECT_TRUE(cast.contains({id.role, id.index ^ 1})) << "the other end of " << to_string(id);
  }
}

}  // namespace
}  // namespace d9d
