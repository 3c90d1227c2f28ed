// How groups of GPUs are opened.
#include "runtime/comm/nccl/world.hpp"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <thread>

#include "tests/runtime/comm/nccl/nccl_world.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

TEST(NcclWorlds, OpensAGroupWithItsMembersAlone) {
  NcclWorld world(3);

  world.run([&](int rank) {
    if (rank == 1) return;
    const auto pair = world.world(rank).open(NcclWorld::group("pair", {0, 2}, rank));
    at::Tensor message = at::full({8}, rank * 1.0);
    if (rank == 0) pair->receive(message, 1).wait();
    if (rank == 2) pair->send(message, 0);
    pair->wait();
    ASSERT_TRUE(world.fake().synchronize(rank));

    EXPECT_EQ(message[7].item<float>(), 2.0F);
  });
}

// As a job's stages and its sums of gradients do it.
TEST(NcclWorlds, ConnectsGroupsOnSeveralThreadsInAnyOrder) {
  NcclWorld world(2);

  world.run([&](int rank) {
    const auto open = [&](const char* name) {
      const auto group = world.world(rank).open(NcclWorld::group(name, {0, 1}, rank));
      group->connect();
      EXPECT_EQ(group->size(), 2);
    };
    std::thread other(open, rank == 0 ? "tp" : "dp");
    open(rank == 0 ? "dp" : "tp");
    other.join();
  });
}

// The first to come connects it, whichever that is on a rank; the last to go ends it.
TEST(NcclWorlds, ConnectsOneCommunicatorForGroupsThatShare) {
  NcclWorld world(2);
  const int before = world.fake().num_communicators();

  for (int round = 0; round < 2; ++round) {
    world.run([&](int rank) {
      std::unique_ptr<Communicator> gather, gradients;
      const auto open = [&](const char* name) {
        auto group = world.world(rank).open(NcclWorld::group(name, {0, 1}, rank), "beside compute[0,1]");
        group->connect();
        (std::string(name) == "gather" ? gather : gradients) = std::move(group);
      };
      std::thread other(open, rank == 0 ? "gather" : "gradients");
      open(rank == 0 ? "gradients" : "gather");
      other.join();
      at::Tensor all = at::full({2, 3}, -1.0F), sum = at::full({5}, rank + 1.0F), again = sum.clone();
      gather->all_gather(all, at::full({3}, rank + 1.0F)).wait();
      gradients->all_reduce(sum, ReduceOp::sum).wait();
      gather->barrier();
      EXPECT_EQ(world.fake().num_communicators(), before + 2);  // one of each rank
      gather->barrier();
      gather.reset();
      gradients->all_reduce(again, ReduceOp::sum).wait();
      ASSERT_TRUE(world.fake().synchronize(rank));

      EXPECT_EQ(gradients->name(), "gradients[0,1]");
      EXPECT_EQ(all[1][2].item<float>(), 2.0F);
      EXPECT_EQ(sum[4].item<float>(), 3.0F);
      EXPECT_EQ(again[4].item<float>(), 3.0F);
    });
    EXPECT_EQ(world.fake().num_communicators(), before);
  }
}

TEST(NcclWorlds, EndsAllGroupsThatShareWhenOneIsAborted) {
  NcclWorld world(2);

  world.run([&](int rank) {
    const auto gather = world.world(rank).open(NcclWorld::group("gather", {0, 1}, rank), "shared");
    const auto gradients = world.world(rank).open(NcclWorld::group("gradients", {0, 1}, rank), "shared");
    gather->abort("the peer is gone");

    EXPECT_THAT(NcclWorld::failure_of([&] { gradients->check(); }),
                HasSubstr("check of group gradients[0,1] (nccl): aborted: the peer is gone"));
  });
}

TEST(NcclWorlds, NamesARankThatConnectsAnotherGroup) {
  NcclWorld world(2, std::chrono::seconds(20), milliseconds(300));

  const auto errors = world.run_and_collect([&](int rank) {
    world.world(rank).open(NcclWorld::group(rank == 0 ? "dp" : "tp", {0, 1}, rank))->connect();
  });

  EXPECT_THAT(errors[0], AllOf(HasSubstr("environment"), HasSubstr("dp[0,1]"),
                               HasSubstr("rank 1 waits to open tp[0,1]")));
  EXPECT_THAT(errors[1], HasSubstr("rank 0 waits to open dp[0,1]"));
}

TEST(NcclWorlds, WakesARankThatWaitsForTheOthersToConnect) {
  NcclWorld world(2, std::chrono::seconds(20), milliseconds(300));

  const auto errors = world.run_and_collect([&](int rank) {
    if (rank == 0) world.world(0).open(NcclWorld::group("late", {0, 1}, 0))->connect();
  });

  EXPECT_THAT(errors[0], AllOf(HasSubstr("environment"), HasSubstr("late[0,1]"), HasSubstr("rank 1")));
}

TEST(NcclWorlds, OpensNothingAfterAnAbort) {
  NcclWorld world(2);
  for (int rank = 0; rank < 2; ++rank) world.world(rank).abort("node 1 is gone");

  for (int rank = 0; rank < 2; ++rank) {
    const auto open = [&] { world.world(rank).open(NcclWorld::group("late", {0, 1}, rank)); };
    EXPECT_THAT(NcclWorld::failure_of(open), HasSubstr("open of group late[0,1] (nccl): aborted: node 1"));
    EXPECT_THAT(NcclWorld::failure_of([&] { world.all(rank).check(); }), HasSubstr("aborted: node 1"));
  }
}

}  // namespace
}  // namespace d9d::nccl
