#include "messages/actor_id.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(ActorIds, PackIntoOneNumberAndBack) {
  for (const ActorId id :
       {ActorId{}, ActorId{Role::rank_executor, 7}, ActorId{Role::probe, 0xFFFFFFFFFFFFULL},
        lane_id(65535, 65535, LaneEnd::receiver)}) {
    EXPECT_EQ(ActorId::from_packed(id.packed()), id) << to_string(id);
  }
}

TEST(ActorIds, AreReadableText) {
  EXPECT_EQ(to_string({Role::rank_executor, 2}), "rank_executor/2");
  EXPECT_EQ(to_string(collective_id(3, 1)), "collective/3.1");
  EXPECT_EQ(to_string(lane_id(1, 2, LaneEnd::sender)), "tensor_lane/1-2.send");
  EXPECT_EQ(to_string(lane_id(1, 2, LaneEnd::receiver)), "tensor_lane/1-2.receive");
}

TEST(ActorIds, ARoleFromAnotherBuildIsStillNamed) {
  EXPECT_EQ(to_string(ActorId::from_packed(0xFFFF000000000001ULL)), "unknown/1");
}

TEST(ActorIds, KnowTheRankTheyWorkFor) {
  EXPECT_EQ(rank_of({Role::trainer, 5}), 5);
  EXPECT_EQ(rank_of(collective_id(5, 2)), 5);
  EXPECT_EQ(rank_of(lane_id(4, 9, LaneEnd::sender)), 4);
  EXPECT_EQ(rank_of(lane_id(4, 9, LaneEnd::receiver)), 9);
  EXPECT_EQ(rank_of({Role::node, 1}), -1);
}

}  // namespace
}  // namespace d9d
