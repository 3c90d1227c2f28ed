// What groups of GPUs do when all goes well.
#include "runtime/comm/nccl/communicator.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "runtime/comm/decorators/traced.hpp"
#include "tests/runtime/comm/nccl/nccl_world.hpp"

namespace d9d::nccl {
namespace {

TEST(Nccl, DoesEveryCollectiveOfTheContract) {
  NcclWorld world(3);

  world.run([&](int rank) {
    Communicator& group = world.all(rank);
    at::Tensor sum = at::full({1000}, rank + 1.0), highest = at::full({3}, rank, at::kLong);
    at::Tensor block = at::empty({2}), all = at::empty({3, 2}), told = at::full({5}, rank, at::kInt);
    const at::Tensor mine = at::full({2}, rank * 1.0);
    group.all_reduce(sum, ReduceOp::sum).wait();
    group.all_reduce(highest, ReduceOp::max).wait();
    group.reduce_scatter(block, at::arange(6, at::kFloat), ReduceOp::sum).wait();
    group.all_gather(all, mine).wait();
    group.broadcast(told, 2).wait();
    group.wait();
    ASSERT_TRUE(world.fake().synchronize(rank));

    EXPECT_EQ(sum[999].item<float>(), 6.0F);
    EXPECT_EQ(highest[2].item<std::int64_t>(), 2);
    EXPECT_TRUE(at::equal(block, at::arange(2 * rank, 2 * rank + 2, at::kFloat).mul(3)));
    EXPECT_TRUE(at::equal(all.select(1, 1), at::arange(3, at::kFloat)));
    EXPECT_EQ(told[4].item<int>(), 2);
    group.barrier();
    EXPECT_EQ(group.backend(), "nccl");
  });
}

TEST(Nccl, ExchangesRowsOfUnequalCounts) {
  NcclWorld world(2);

  world.run([&](int rank) {
    // Rank 0 keeps one row and sends two; rank 1 sends none and keeps one.
    const std::vector<std::int64_t> in =
        rank == 0 ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{0, 1};
    const std::vector<std::int64_t> out =
        rank == 0 ? std::vector<std::int64_t>{1, 0} : std::vector<std::int64_t>{2, 1};
    const at::Tensor input = at::arange((in[0] + in[1]) * 4, at::kFloat).view({-1, 4}).add(100.0 * rank);
    at::Tensor output = at::zeros({out[0] + out[1], 4});
    world.all(rank).all_to_all(output, input, out, in).wait();
    world.all(rank).wait();
    ASSERT_TRUE(world.fake().synchronize(rank));

    const at::Tensor first = rank == 0 ? at::zeros({1}) : at::tensor({4.0F, 8.0F, 100.0F});
    EXPECT_TRUE(at::equal(output.select(1, 0), first));
  });
}

// Both send first: without one operation for both directions each would wait for the other.
TEST(Nccl, PassesLargeMessagesRoundARingOfTwo) {
  constexpr std::int64_t elements = std::int64_t{64} << 18;  // 64 MB
  NcclWorld world(2);

  world.run([&](int rank) {
    Communicator& group = world.all(rank);
    at::Tensor mine = at::full({elements}, rank * 1.0);
    for (int hop = 0; hop < 2; ++hop) {
      at::Tensor coming = at::empty_like(mine);
      group.begin_exchange(mine, 1 - rank, coming, 1 - rank, 0);
      group.end_exchange(coming, 1 - rank, 0).wait();
      mine = coming;
    }
    ASSERT_TRUE(world.fake().synchronize(rank));

    EXPECT_EQ(mine[elements - 1].item<float>(), rank);
  });
}

TEST(Nccl, PassesAnExchangeThroughADecorator) {
  NcclWorld world(2);

  world.run([&](int rank) {
    const auto ranks = std::vector<int>{0, 1};
    const auto traced =
        make_traced(world.world(rank).open(NcclWorld::group("ring", ranks, rank)),
                    [](const std::string&, std::uint64_t, const std::function<void()>& work) { work(); });
    const at::Tensor mine = at::full({3}, rank * 1.0);
    at::Tensor coming = at::empty_like(mine);
    traced->begin_exchange(mine, 1 - rank, coming, 1 - rank, 0);
    traced->end_exchange(coming, 1 - rank, 0).wait();
    ASSERT_TRUE(world.fake().synchronize(rank));

    EXPECT_EQ(coming[0].item<float>(), 1.0F - rank);
  });
}

}  // namespace
}  // namespace d9d::nccl
