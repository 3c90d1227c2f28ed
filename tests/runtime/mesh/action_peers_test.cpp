#include "runtime/mesh/action_peers.hpp"

#include <gtest/gtest.h>

#include "runtime/mesh/plan.hpp"

namespace d9d {
namespace {

using Ranks = std::vector<int>;

Plan plan_of(const DeviceMeshParameters& mesh) {
  return Plan(mesh, {mesh.world_size()});
}

TEST(ActionPeers, AreNoneAmongStagesAndReplicas) {
  const Plan plan = plan_of({.pipeline_parallel = 2, .data_parallel_replicate = 4});

  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(action_peers(plan, rank), Ranks{rank});
}

TEST(ActionPeers, AreTensorContextAndShardedDataRanksOfOneStage) {
  const Plan plan = plan_of({.pipeline_parallel = 2, .data_parallel_replicate = 2, .tensor_parallel = 2});
  EXPECT_EQ(action_peers(plan, 0), (Ranks{0, 1}));
  EXPECT_EQ(action_peers(plan, 7), (Ranks{6, 7}));

  const Plan all = plan_of({.pipeline_parallel = 2,
                            .data_parallel_shard = 2,
                            .context_parallel_replicate = 2,
                            .context_parallel_shard = 2,
                            .tensor_parallel = 2});
  for (int rank = 0; rank < 32; ++rank) {
    const Ranks peers = action_peers(all, rank);
    EXPECT_EQ(peers.size(), 16U);
    EXPECT_EQ(peers.front(), rank / 16 * 16);
  }
}

TEST(ActionPeers, AreRanksThatShareExpertsAndWhomTheseMeet) {
  // Experts are spread over four ranks: two replicas times two tensor-parallel ranks.
  const Plan plan = plan_of(
      {.pipeline_parallel = 2, .data_parallel_replicate = 4, .tensor_parallel = 2, .expert_parallel = 4});

  EXPECT_EQ(action_peers(plan, 1), (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(action_peers(plan, 14), (Ranks{12, 13, 14, 15}));

  // Experts over pairs of replicas: through them and tp, three ranks that never share a group are peers.
  const Plan chain = plan_of({.data_parallel_replicate = 2, .tensor_parallel = 3, .expert_parallel = 2});
  EXPECT_EQ(action_peers(chain, 5), (Ranks{0, 1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace d9d
