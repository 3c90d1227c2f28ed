// Whose fault a failure is.
#include "runtime/comm/nccl/witnesses.hpp"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <latch>
#include <thread>

#include "tests/runtime/comm/nccl/nccl_world.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

// Of the group whose deadline is over first: when that one is ended, the other may come to its end.
std::string told_after(NcclWorld& world, int rank) {
  return NcclWorld::failure_of([&] {
    world.all(rank).wait();
    world.more(rank).wait();
  });
}

TEST(Witnesses, NamesGroupOperationAndRanksWhenAPeerIsLost) {
  NcclWorld world(2);
  std::string found;
  std::latch launched(1);

  world.run([&](int rank) {
    sum_ones(world.all(rank));
    world.all(rank).wait();
    ASSERT_TRUE(world.fake().synchronize(rank));
    if (rank == 1) {
      launched.wait();
      return world.fake().stall(1, true);
    }
    at::Tensor tensor = at::ones({1000});
    const Pending sum = world.all(0).all_reduce(tensor, ReduceOp::sum);
    launched.count_down();
    found = NcclWorld::failure_of([&] { sum.wait(); });
  });

  EXPECT_THAT(found, AllOf(HasSubstr("environment: wait of group all[0,1] (nccl): "),
                           HasSubstr("all_reduce(Float, 1000 elements) of ranks 0, 1: remote error"),
                           HasSubstr("the fake's last words"), HasSubstr("not all ranks answer"),
                           HasSubstr("rank 1")));
}

TEST(Witnesses, SaysWhichRankDidNotComeToACollective) {
  NcclWorld world(3, milliseconds(300));

  world.run([&](int rank) {
    if (rank == 1) return;
    sum_ones(world.all(rank));
    EXPECT_THAT(
        told_after(world, rank),
        AllOf(HasSubstr("all_reduce(Float, 1000 elements) of ranks 0, 1, 2: not done"), HasSubstr("rank 1")));
  });
}

TEST(Witnesses, NamesTheRankThatLaunchesInAnotherOrder) {
  NcclWorld world(2, milliseconds(300));

  world.run([&](int rank) {
    sum_ones(rank == 0 ? world.all(rank) : world.more(rank));
    sum_ones(rank == 0 ? world.more(rank) : world.all(rank));
    EXPECT_THAT(
        told_after(world, rank),
        HasSubstr("rank 1 launched all_reduce(Float, 1000 elements) number 1 of group more[0,1] where "
                  "rank 0 launched all_reduce(Float, 1000 elements) number 1 of group all[0,1]"));
  });
}

// A tensor may be freed once its rank has aborted: whoever comes later neither reads nor writes it.
TEST(Witnesses, OfARankThatHasAbortedNothingIsTouched) {
  NcclWorld world(2, milliseconds(300));
  at::Tensor of_the_aborted = at::ones({1000}), of_the_other = at::ones({1000});
  std::latch aborted(1);

  world.run([&](int rank) {
    Communicator& group = world.all(rank);
    if (rank == 0) {
      const Pending sum = group.all_reduce(of_the_aborted, ReduceOp::sum);
      group.abort("over");
      EXPECT_TRUE(world.fake().synchronize(0));
      EXPECT_THAT(NcclWorld::failure_of([&] { sum.wait(); }), HasSubstr("aborted: over"));
      while (world.fake().num_communicators() == 4) std::this_thread::yield();  // the watch ends it
      return aborted.count_down();
    }
    aborted.wait();
    const Pending sum = group.all_reduce(of_the_other, ReduceOp::sum);
    EXPECT_THAT(NcclWorld::failure_of([&] { sum.wait(); }), HasSubstr("not done"));
  });

  EXPECT_TRUE(of_the_aborted.equal(at::ones({1000})));
  EXPECT_TRUE(of_the_other.equal(at::ones({1000})));
}

}  // namespace
}  // namespace d9d::nccl
