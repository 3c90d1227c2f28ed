// Collectives of the emulated NCCL: late, in any order that events allow, and the bits of the CPU.
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
using testing::HasSubstr;

// Whether the ranks are threads of one process, or know of each other by their connections only.
class EmulatedCollectives : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Processes, EmulatedCollectives, testing::Bool(),
                         [](const auto& one_process) { return one_process.param ? "one" : "several"; });

TEST_P(EmulatedCollectives, SumGatherAndTellOnDelayedDevices) {
  EmulatedWorld world(3, std::chrono::seconds(20), GetParam());

  const auto errors = world.run([](int rank, Communicator& all, Communicator&) {
    at::Tensor sum = on(rank, at::full({100'000}, rank + 1.0F)),
               half = on(rank, at::full({3}, 0.1F, at::kBFloat16));
    at::Tensor block = on(rank, at::zeros({2})), whole = on(rank, at::zeros({3, 2}));
    at::Tensor told = on(rank, at::full({5}, rank, at::kInt)), none = on(rank, at::zeros({0}));
    all.all_reduce(sum, ReduceOp::sum).wait();
    all.all_reduce(none, ReduceOp::sum).wait();
    all.all_reduce(half, ReduceOp::max).wait();
    all.reduce_scatter(block, on(rank, at::arange(6, at::kFloat)), ReduceOp::sum).wait();
    all.all_gather(whole, on(rank, at::full({2}, rank * 1.0F))).wait();
    all.broadcast(told, 2).wait();

    EXPECT_EQ(sum[99'999].item<float>(), 6.0F);
    EXPECT_EQ(half[2].item<float>(), at::full({}, 0.1F, at::kBFloat16).item<float>());
    EXPECT_TRUE(at::equal(block.cpu(), at::arange(2 * rank, 2 * rank + 2, at::kFloat).mul(3)));
    EXPECT_TRUE(at::equal(whole.cpu().select(1, 1), at::arange(3, at::kFloat)));
    EXPECT_EQ(told[4].item<int>(), 2);
  });

  EXPECT_THAT(errors, testing::Each(""));
}

// The stream of a communicator is not the caller's.
TEST(EmulatedNccl, ShowsAReadThatDoesNotWait) {
  EmulatedWorld world(2);

  const auto errors = world.run([&](int rank, Communicator& all, Communicator&) {
    at::Tensor sum = on(rank, at::full({10}, 1.0F));
    static_cast<void>(all.all_reduce(sum, ReduceOp::sum));
    try {
      sum.add(0);
    } catch (...) {
      all.wait();
      throw;
    }
  });

  EXPECT_THAT(errors, testing::Each(AllOf(HasSubstr("aten::add"), HasSubstr("ncclAllReduce"))));
}

TEST(EmulatedNccl, NamesARankThatLaunchesInAnotherOrder) {
  EmulatedWorld world(2, milliseconds(300));

  const auto errors = world.run([](int rank, Communicator& all, Communicator& more) {
    at::Tensor one = on(rank, at::full({10}, 1.0F)), other = on(rank, at::full({10}, 1.0F));
    Communicator& first = rank == 0 ? all : more;
    Communicator& second = rank == 0 ? more : all;
    first.all_reduce(one, ReduceOp::sum).wait();
    second.all_reduce(other, ReduceOp::sum).wait();
    one.cpu();  // ends when the communicator is ended
    first.check();
    other.cpu();
    second.check();
  });

  for (const std::string& error : errors)
    EXPECT_THAT(error, AllOf(HasSubstr("not done 300 ms after it could begin"),
                             HasSubstr("rank 1 launched all_reduce(Float, 10 elements) number 1 of group "
                                       "more[0,1] where rank 0 launched")));
}

}  // namespace
}  // namespace d9d::nccl
