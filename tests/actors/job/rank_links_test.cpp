#include "actors/job/rank_links.hpp"

#include <gmock/gmock.h>

#include "actors/collective.hpp"
#include "actors/tensor_lane.hpp"
#include "runtime/rank/group/rank_gradients.hpp"
#include "tests/runtime/launch/process_of_a_test.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Two stages times two replicas; on two nodes a pipeline has a stage on each.
class RankLinksTest : public ::testing::Test {
 protected:
  EpochServices epoch_of(const std::vector<int>& ranks_per_node) {
    return EpochServices(process_.services, {.ranks_per_node = ranks_per_node,
                                             .addresses = std::vector<HostPort>(ranks_per_node.size())});
  }
  RankLinks links_of(EpochServices& epoch, int rank) const {
    return {epoch, process_.loaded.job, rank, std::make_shared<RankGradients>()};
  }
  static std::vector<ActorId> ids_of(const std::vector<CastMember>& members) {
    std::vector<ActorId> ids;
    for (const CastMember& member : members) ids.push_back(member.id);
    return ids;
  }

  ProcessOfATest process_;
};

TEST_F(RankLinksTest, HaveACollectiveForEachSum) {
  EpochServices epoch = epoch_of({4});
  const RankLinks links = links_of(epoch, 3);

  const std::vector<ActorId> gradients = links.gradient_collectives();

  ASSERT_FALSE(gradients.empty());
  EXPECT_EQ(gradients.front(), collective_id(3, first_gradient_group));
  std::vector<ActorId> all{collective_id(3, step_group), collective_id(3, metric_group)};
  all.insert(all.end(), gradients.begin(), gradients.end());
  EXPECT_EQ(ids_of(links.collectives()), all);
}

TEST_F(RankLinksTest, HaveLanesToOtherProcessesOnly) {
  EpochServices one = epoch_of({4});
  EXPECT_THAT(links_of(one, 0).lanes({0, 2}, true), IsEmpty());

  EpochServices two = epoch_of({2, 2});
  EXPECT_THAT(ids_of(links_of(two, 0).lanes({0, 2}, false)),
              UnorderedElementsAre(lane_id(0, 2, LaneEnd::sender), lane_id(2, 0, LaneEnd::receiver)));
  EXPECT_THAT(ids_of(links_of(two, 2).lanes({0, 2}, false)),
              UnorderedElementsAre(lane_id(0, 2, LaneEnd::receiver), lane_id(2, 0, LaneEnd::sender)));
  EXPECT_THAT(links_of(two, 1).lanes({0, 2}, false), IsEmpty()) << "of another pipeline";
}

TEST_F(RankLinksTest, TheLastStageReachesTheFirstWhereTextsGoRound) {
  EpochServices epoch = epoch_of({1, 1, 1, 1});

  EXPECT_THAT(ids_of(links_of(epoch, 3).lanes({0, 1, 2, 3}, true)),
              UnorderedElementsAre(lane_id(2, 3, LaneEnd::receiver), lane_id(3, 2, LaneEnd::sender),
                                   lane_id(3, 0, LaneEnd::sender)));
}

}  // namespace
}  // namespace d9d
