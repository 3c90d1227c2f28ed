// What is found and ended while no rank calls anything.
#include "runtime/comm/nccl/watch.hpp"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <tuple>

#include "tests/runtime/comm/nccl/nccl_world.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

TEST(Watch, FindsAnErrorInMidStepWithoutACall) {
  NcclWorld world(2);
  world.fake().fail_launch(0, 3);

  world.run([&](int rank) {
    for (int i = 0; i < 3; ++i) sum_ones(world.all(rank));
    if (rank == 1) return;
    EXPECT_THAT(world.failure_after(0), AllOf(HasSubstr("environment"), HasSubstr("internal error")));
    EXPECT_TRUE(world.fake().synchronize(0));  // nothing waits on the device
  });
  world.all(1).abort("the other rank has failed");
}

TEST(Watch, TakesAnotherDeadlineForAllOfARank) {
  NcclWorld world(2);
  world.world(0).set_call_timeout(milliseconds(200));

  sum_ones(world.more(0));  // rank 1 does not come

  const std::string failure = NcclWorld::failure_of([&] { world.more(0).wait(); });
  EXPECT_THAT(failure, HasSubstr("not done 200 ms after it could begin"));
  world.more(1).abort("the other rank has failed");
}

TEST(Watch, KeepsADeadlineWhileAnotherGroupsAbortBlocks) {
  NcclWorld world(2);
  world.world(0).set_call_timeout(milliseconds(100));
  world.fake().hold_aborts();

  at::Tensor one = at::ones({4}), other = at::ones({4});
  std::ignore = world.all(0).all_reduce(one, ReduceOp::sum);  // rank 1 does not come
  std::ignore = world.more(0).all_reduce(other, ReduceOp::sum);

  for (Communicator* const group : {&world.all(0), &world.more(0)})
    EXPECT_THAT(NcclWorld::failure_of([&] { group->wait(); }), HasSubstr("not done 100 ms"));
  world.fake().release_aborts();
  for (int rank = 0; rank < 2; ++rank) world.all(rank).abort("enough"), world.more(rank).abort("enough");
}

TEST(Watch, EndsWhatRunsWhenItIsAborted) {
  NcclWorld world(2);

  sum_ones(world.all(0));  // rank 1 does not come
  world.all(0).wait();
  world.all(0).abort("node 1 is gone");

  EXPECT_TRUE(world.fake().synchronize(0));
  EXPECT_THAT(world.failure_after(0),
              HasSubstr("environment: wait of group all[0,1] (nccl): aborted: node 1 is gone"));
  EXPECT_FALSE(world.fake().caller_has_ended_one()) << "the watch ends it, which may block";
}

}  // namespace
}  // namespace d9d::nccl
