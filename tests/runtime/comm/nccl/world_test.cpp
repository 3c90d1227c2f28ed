// How groups of GPUs are opened.
#include "runtime/comm/nccl/world.hpp"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include "tests/runtime/comm/nccl/nccl_world.hpp"

namespace d9d::nccl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(NcclWorlds, SplitsTheWorldByGroupsOfOneRole) {
  NcclWorld world(4);

  world.run([&](int rank) {
    const std::vector<int> ranks{rank % 2, rank % 2 + 2};
    const auto group = world.world(rank).open(NcclWorld::group("dp", ranks, rank));
    at::Tensor sum = at::full({1}, rank * 1.0);
    group->all_reduce(sum, ReduceOp::sum).wait();
    group->wait();
    ASSERT_TRUE(world.fake().synchronize(rank));

    EXPECT_EQ(sum.item<float>(), ranks[0] + ranks[1]);
  });
}

TEST(NcclWorlds, OpensAPairWithoutTheOthers) {
  NcclWorld world(3);

  world.run([&](int rank) {
    if (rank == 1) return;
    const auto pair = world.world(rank).open(NcclWorld::group("pair", {0, 2}, rank), OpenedBy::members);
    at::Tensor message = at::full({8}, rank * 1.0);
    if (rank == 0) pair->receive(message, 1).wait();
    if (rank == 2) pair->send(message, 0);
    pair->wait();
    ASSERT_TRUE(world.fake().synchronize(rank));

    EXPECT_EQ(message[7].item<float>(), 2.0F);
  });
}

TEST(NcclWorlds, NamesARankThatOpensAnotherGroup) {
  NcclWorld world(2);

  const auto errors = world.run_and_collect([&](int rank) {
    world.world(rank).open(NcclWorld::group(rank == 0 ? "dp" : "tp", {0, 1}, rank));
  });

  EXPECT_THAT(errors[0], testing::HasSubstr("rank 1 opens a group \"tp\" where rank 0 opens \"dp\""));
}

TEST(NcclWorlds, WakesARankThatWaitsForTheOthersToOpen) {
  NcclWorld world(2);

  const auto errors = world.run_and_collect([&](int rank) {
    const auto open_host = [&](const Group& group) {
      return std::make_unique<SharedMemoryHub>()->open(group, milliseconds(300));
    };
    if (rank == 0)
      World(WorldOptions{&world.fake().api(), 0, NcclWorld::group("late", {0, 1}, 0), milliseconds(300)},
            open_host);
  });

  EXPECT_THAT(errors[0], AllOf(HasSubstr("environment"), HasSubstr("late[0,1]"), HasSubstr("rank 1")));
}

}  // namespace
}  // namespace d9d::nccl
