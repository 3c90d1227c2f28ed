// When a group of GPUs is connected, and what becomes of it where it is not.
// How the like has broken elsewhere:
//   FailsAllLaterCalls...: pytorch#88103: no deadline holds while a first call connects
//   IsConnectedByItsFirstLaunch...: DeepEP #727: a user of a communicator that is not there yet
//   what members do behind a connection (world.cpp): nccl#581, nccl#623: some launch while others still connect
#include "runtime/comm/nccl/late_channel.hpp"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <latch>
#include <thread>

#include "runtime/comm/decorators/reopened.hpp"
#include "tests/runtime/comm/nccl/nccl_world.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<Communicator> opened(NcclWorld& world, int rank, const std::string& name = "late") {
  return world.world(rank).open(NcclWorld::group(name, {0, 1}, rank));
}

TEST(LateChannel, IsConnectedByItsFirstLaunchAndNotByOpeningIt) {
  NcclWorld world(2);
  const int before = world.fake().num_communicators();

  world.run([&](int rank) {
    const auto group = opened(world, rank);
    at::Tensor here = at::ones({2}, at::kDouble);
    group->wait();
    group->check();
    group->barrier();
    EXPECT_EQ(world.fake().num_communicators(), before);
    group->barrier();

    sum_ones(*group);
    group->wait();
    ASSERT_TRUE(world.fake().synchronize(rank));
    group->barrier();
    EXPECT_EQ(world.fake().num_communicators(), before + 2);
    group->barrier();
  });
}

TEST(LateChannel, IsConnectedBeforeItsFirstLaunchWhereThatIsAskedFor) {
  NcclWorld world(2);
  const int before = world.fake().num_communicators();

  world.run([&](int rank) {
    const auto group = opened(world, rank);
    for (int again = 0; again < 2; ++again) group->connect();
    group->barrier();
    EXPECT_EQ(world.fake().num_communicators(), before + 2);
    group->barrier();
  });
}

// The communicators of a job that sleeps are closed. What was connected early is so again.
TEST(LateChannel, IsConnectedWhenTheJobWakesWhereItWasBefore) {
  NcclWorld world(2);
  const int before = world.fake().num_communicators();

  world.run([&](int rank) {
    ReopenedCommunicators of_rank;
    const auto open = [&](const char* name) {
      return of_rank.open([&, name] { return std::shared_ptr<Communicator>(opened(world, rank, name)); });
    };
    const auto early = open("early"), late = open("late");
    early->connect();
    of_rank.close();
    world.all(rank).barrier();
    EXPECT_EQ(world.fake().num_communicators(), before);
    world.all(rank).barrier();
    of_rank.reopen();

    late->barrier();
    EXPECT_EQ(world.fake().num_communicators(), before + 2);
    late->barrier();
    sum_ones(*early);
    sum_ones(*late);
    late->wait();
    early->wait();
    EXPECT_TRUE(world.fake().synchronize(rank));
  });
}

// Of two ranks one launches, and the other one may have asked for it before.
TEST(LateChannel, MeetsALaunchOfOneRankWithAConnectionOfTheOther) {
  NcclWorld world(2);

  world.run([&](int rank) {
    const auto group = opened(world, rank);
    if (rank == 0) group->connect();
    sum_ones(*group);
    group->wait();
    EXPECT_TRUE(world.fake().synchronize(rank));
  });
}

TEST(LateChannel, FailsAllLaterCallsWhereAMemberDoesNotCome) {
  NcclWorld world(2);
  const auto group = opened(world, 0), peer = opened(world, 1);
  group->set_timeout(milliseconds(200));

  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(NcclWorld::failure_of([&] { sum_ones(*group); }),
                AllOf(HasSubstr("environment: all_reduce of group late[0,1] (nccl): "), HasSubstr("rank 1"),
                      HasSubstr("200 ms")));
  }
  EXPECT_THAT(NcclWorld::failure_of([&] { group->check(); }), HasSubstr("check of group late[0,1] (nccl)"));
}

// By the group itself, and by the end of all that the rank has.
TEST(LateChannel, WakesALaunchThatWaitsForTheOthersWhenItIsAborted) {
  for (const bool by_world : {false, true}) {
    NcclWorld world(2);
    const auto group = opened(world, 0), peer = opened(world, 1);
    std::string found;
    std::latch begins(1);

    std::thread waiting([&] {
      begins.count_down();
      found = NcclWorld::failure_of([&] { sum_ones(*group); });
    });
    begins.wait();
    by_world ? world.world(0).abort("node 1 is gone") : group->abort("node 1 is gone");
    waiting.join();

    EXPECT_THAT(found, AllOf(HasSubstr("of group late[0,1] (nccl): aborted: node 1 is gone")));
    EXPECT_THAT(NcclWorld::failure_of([&] { group->wait(); }), HasSubstr("aborted: node 1 is gone"));
    if (by_world) world.world(1).abort("node 1 is gone");
  }
}

// As a job gives it after its first step.
TEST(LateChannel, TakesTheDeadlineThatItsRankWasGivenBeforeItWasConnected) {
  NcclWorld world(2);

  world.run([&](int rank) {
    const auto group = opened(world, rank);
    world.world(rank).set_call_timeout(milliseconds(200));
    group->connect();
    group->barrier();
    if (rank == 1) return group->barrier();
    sum_ones(*group);
    EXPECT_THAT(NcclWorld::failure_of([&] { group->wait(); }), HasSubstr("not done 200 ms after it could"));
    group->barrier();
  });
}

}  // namespace
}  // namespace d9d::nccl
