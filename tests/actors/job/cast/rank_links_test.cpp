#include "actors/job/cast/rank_links.hpp"

#include <gmock/gmock.h>

#include "runtime/rank/group/rank_gradients.hpp"
#include "tests/actors/job/process_of_a_test.hpp"

namespace d9d {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Two stages times two replicas; on two nodes a pipeline has a stage on each.
class RankLinksTest : public ::testing::Test {
 protected:
  static EpochServices epoch_of(ProcessOfATest& process, const std::vector<int>& ranks_per_node) {
    return EpochServices(process.services, {.ranks_per_node = ranks_per_node,
                                            .addresses = std::vector<HostPort>(ranks_per_node.size())});
  }
  static RankLinks links_of(ProcessOfATest& process, EpochServices& epoch, int rank) {
    const RankPlan plan = plan_rank(process.loaded.job, process.prepared.plan, epoch.plan(), rank);
    return {process.services, epoch, plan, std::make_shared<RankGradients>()};
  }
  static std::vector<ActorId> ids_of(const std::vector<CastMember>& members) {
    std::vector<ActorId> ids;
    for (const CastMember& member : members) ids.push_back(member.id);
    return ids;
  }

  ProcessOfATest process_;
};

TEST_F(RankLinksTest, HaveACollectiveForEachSum) {
  EpochServices epoch = epoch_of(process_, {4});
  const RankLinks links = links_of(process_, epoch, 3);

  const std::vector<ActorId> gradients = links.gradient_collectives();

  ASSERT_FALSE(gradients.empty());
  EXPECT_EQ(gradients.front(), collective_id(3, first_gradient_group));
  std::vector<ActorId> all{collective_id(3, step_group), collective_id(3, metric_group)};
  all.insert(all.end(), gradients.begin(), gradients.end());
  EXPECT_EQ(ids_of(links.collectives()), all);
}

TEST_F(RankLinksTest, HaveLanesToOtherProcessesOnly) {
  EpochServices one = epoch_of(process_, {4});
  EXPECT_THAT(links_of(process_, one, 0).lanes(true), IsEmpty());

  EpochServices two = epoch_of(process_, {2, 2});
  EXPECT_THAT(ids_of(links_of(process_, two, 0).lanes(false)),
              UnorderedElementsAre(lane_id(0, 2, LaneEnd::sender), lane_id(2, 0, LaneEnd::receiver)));
  EXPECT_THAT(ids_of(links_of(process_, two, 2).lanes(false)),
              UnorderedElementsAre(lane_id(0, 2, LaneEnd::receiver), lane_id(2, 0, LaneEnd::sender)));
  EXPECT_THAT(ids_of(links_of(process_, two, 1).lanes(false)),
              UnorderedElementsAre(lane_id(1, 3, LaneEnd::sender), lane_id(3, 1, LaneEnd::receiver)))
      << "of its own pipeline alone";
}

TEST_F(RankLinksTest, TheLastStageReachesTheFirstWhereTextsGoRound) {
  ProcessOfATest four({"mesh.pipeline_parallel=4", "mesh.data_parallel_replicate=1"});
  EpochServices epoch = epoch_of(four, {1, 1, 1, 1});

  EXPECT_THAT(ids_of(links_of(four, epoch, 3).lanes(true)),
              UnorderedElementsAre(lane_id(2, 3, LaneEnd::receiver), lane_id(3, 2, LaneEnd::sender),
                                   lane_id(3, 0, LaneEnd::sender)));
}

}  // namespace
}  // namespace d9d
