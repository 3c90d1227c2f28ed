// The emulated NCCL between processes: ranks that know of each other by their connections only.
#include "runtime/devices/delayed/nccl/emulated_across.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "tests/runtime/devices/delayed/nccl/emulated_world.hpp"

namespace d9d::nccl {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

EmulatedWorld processes(int size, milliseconds timeout = std::chrono::seconds(20)) {
  return EmulatedWorld(size, timeout, /*one_process=*/false);
}

// Nobody waits for rank 1's device there; a GPU works all the same.
TEST(EmulatedAcross, WorksForOthersWhileItsOwnHostDoesNotWait) {
  EmulatedWorld world = processes(2);

  const auto errors = world.run([](int rank, Communicator& all, Communicator&) {
    at::Tensor sum = on(rank, at::full({10}, 1.0F)), row = on(rank, at::full({4}, 7.0F * rank));
    all.all_reduce(sum, ReduceOp::sum).wait();
    if (rank == 1) all.send(row, 0);
    if (rank == 0) {
      all.receive(row, 1).wait();
      EXPECT_EQ(row[3].item<float>() + sum[9].item<float>(), 9.0F);
    }
    all.barrier();
  });

  EXPECT_THAT(errors, Each(""));
}

TEST(EmulatedAcross, NeverEndsWhereCallsDoNotMatch) {
  EmulatedWorld world = processes(2, milliseconds(300));

  const auto errors = world.run([](int rank, Communicator& all, Communicator&) {
    at::Tensor sum = on(rank, at::full({10 + rank}, 1.0F));
    all.all_reduce(sum, ReduceOp::sum).wait();
    sum.cpu();  // ends when the communicator is ended
    all.check();
  });

  EXPECT_THAT(errors, Each(AllOf(HasSubstr("not done 300 ms after it could begin"),
                                 HasSubstr("rank 1 launched all_reduce(Float, 11 elements)"))));
}

TEST(EmulatedAcross, NamesAMessageThatNobodyReceives) {
  EmulatedWorld world = processes(2, milliseconds(300));

  const auto errors = world.run([](int rank, Communicator& all, Communicator&) {
    at::Tensor row = on(rank, at::full({4}, 1.0F));
    if (rank == 1) return;
    all.send(row, 1);
    all.wait();
    row.add(0).cpu();
    all.check();
  });

  EXPECT_THAT(errors[0], AllOf(HasSubstr("send(Float, 4 elements) to rank 1: not done 300 ms"),
                               HasSubstr("of group all[0,1] (nccl)")));
}

// Long before the deadline.
TEST(EmulatedAcross, FailsWhereAMemberIsGoneThatItWaitsFor) {
  EmulatedWorld world = processes(2);
  world.lose(1);

  const auto errors = world.run([](int rank, Communicator& all, Communicator&) {
    if (rank == 1) return;
    at::Tensor sum = on(rank, at::full({10}, 1.0F));
    all.all_reduce(sum, ReduceOp::sum).wait();
    sum.cpu();
    all.check();
  });

  EXPECT_THAT(errors[0],
              AllOf(HasSubstr("all_reduce(Float, 10 elements) of ranks 0, 1: remote process ended"),
                    HasSubstr("of group all[0,1] (nccl)"), HasSubstr("not all ranks answer")));
}

}  // namespace
}  // namespace d9d::nccl
