// Collectives under autograd: what comes out, and that backward is the transpose.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/nn/shard/collectives.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d {
namespace {

constexpr int rank_count = 3;

void run_ranks(const std::function<void(int, const SharedCommunicator&)>& work) {
  SharedMemoryHub hub;
  test::in_threads(rank_count, [&](int rank) {
    work(rank, hub.open({"all", {0, 1, 2}, rank, true}, std::chrono::seconds(10)));
  });
}

at::Tensor numbers(at::IntArrayRef shape, double first) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return at::arange(count, at::kDouble).add_(first).view(shape);
}

// <y, Ax> summed over ranks equals <A'y, x> summed over ranks: A' is the transpose of A.
void expect_transposed(const std::function<at::Tensor(const at::Tensor&, const SharedCommunicator&)>& op,
                       const std::function<at::Tensor(int)>& input) {
  std::array<double, rank_count> forward{};
  std::array<double, rank_count> backward{};
  run_ranks([&](int rank, const SharedCommunicator& group) {
    const at::Tensor x = input(rank).requires_grad_();
    const at::Tensor y = op(x, group);
    const at::Tensor weight = numbers(y.sizes(), 7.0 * rank).sin();
    forward[static_cast<std::size_t>(rank)] = (y.detach() * weight).sum().item<double>();
    y.backward(weight);
    backward[static_cast<std::size_t>(rank)] = (x.grad() * x.detach()).sum().item<double>();
  });
  const auto sum = [](const std::array<double, rank_count>& parts) { return parts[0] + parts[1] + parts[2]; };
  EXPECT_NEAR(sum(forward), sum(backward), 1e-9 * std::abs(sum(forward)));
}

TEST(Collectives, GatherPutsTheBlocksOfAllRanksTogetherInRankOrder) {
  run_ranks([](int rank, const SharedCommunicator& group) {
    const at::Tensor all = gather_along(numbers({2, 4, 2}, 100 * rank), 1, group);
    EXPECT_TRUE(at::equal(
        all, at::cat({numbers({2, 4, 2}, 0), numbers({2, 4, 2}, 100), numbers({2, 4, 2}, 200)}, 1)));
  });
}

TEST(Collectives, ScatterSumGivesEachRankItsBlockOfTheSum) {
  run_ranks([](int rank, const SharedCommunicator& group) {
    const at::Tensor mine = scatter_sum_along(numbers({2, 6}, rank), 1, group);
    EXPECT_TRUE(at::equal(mine, (numbers({2, 6}, 1) * 3).narrow(1, 2 * rank, 2)));
  });
}

TEST(Collectives, CollectGivesEachRankItsBlockOfAGradientThatAllHoldAlike) {
  run_ranks([](int rank, const SharedCommunicator& group) {
    const at::Tensor x = numbers({2, 4}, 100 * rank).requires_grad_();

    const at::Tensor all = collect_along(x, 1, group);
    all.backward(numbers({2, 12}, 0));

    EXPECT_TRUE(at::equal(all, at::cat({numbers({2, 4}, 0), numbers({2, 4}, 100), numbers({2, 4}, 200)}, 1)));
    EXPECT_TRUE(at::equal(x.grad(), numbers({2, 12}, 0).narrow(1, 4 * rank, 4)));
  });
}

TEST(Collectives, RowsGoWhereTheSplitsSayAndNoRowsAreFine) {
  run_ranks([](int rank, const SharedCommunicator& group) {
    // Rank r sends r rows to everyone.
    const std::int64_t rows = rank;
    const at::Tensor got =
        exchange_rows(numbers({3 * rows, 2}, 10.0 * rank), {rows, rows, rows}, {0, 1, 2}, group);
    ASSERT_EQ(got.sizes(), (std::vector<std::int64_t>{3, 2}));
    EXPECT_TRUE(at::equal(got.narrow(0, 0, 1), numbers({3, 2}, 10).narrow(0, rank, 1)));
    EXPECT_TRUE(at::equal(got.narrow(0, 1, 2), numbers({6, 2}, 20).narrow(0, 2 * rank, 2)));
  });
}

TEST(Collectives, SwappingShardsTwiceIsNothing) {
  run_ranks([](int rank, const SharedCommunicator& group) {
    const at::Tensor x = numbers({2, 4, 6, 5}, 1000 * rank);
    const at::Tensor swapped = swap_shards(x, 2, 1, group);
    EXPECT_EQ(swapped.sizes(), (std::vector<std::int64_t>{2, 12, 2, 5}));
    EXPECT_TRUE(at::equal(swap_shards(swapped, 1, 2, group), x));
  });
}

TEST(Collectives, BackwardIsTheTranspose) {
  const auto block = [](int rank) { return numbers({2, 6, 3}, 11.0 * rank).cos(); };
  expect_transposed([](const auto& x, const auto& g) { return gather_along(x, 1, g); }, block);
  expect_transposed([](const auto& x, const auto& g) { return scatter_sum_along(x, 1, g); }, block);
  expect_transposed([](const auto& x, const auto& g) { return swap_shards(x, 2, 1, g); }, block);
  expect_transposed(
      [](const auto& x, const auto& g) {
        return exchange_rows(x, {0, 2, 4}, {2L * g->rank(), 2L * g->rank(), 2L * g->rank()}, g);
      },
      [](int rank) {
        return numbers({6, 2}, 3.0 * rank).cos();
      });
}

TEST(Collectives, TheGradientOfASplitIsWholeOnEveryRank) {
  run_ranks([](int rank, const SharedCommunicator& group) {
    const at::Tensor x = numbers({6}, 0).requires_grad_();
    const at::Tensor mine = split_along(x, 0, group);
    EXPECT_TRUE(at::equal(mine, numbers({2}, 2.0 * rank)));
    (mine * static_cast<double>(rank + 1)).sum().backward();
    EXPECT_TRUE(at::equal(x.grad(), at::tensor({1.0, 1.0, 2.0, 2.0, 3.0, 3.0})));
  });
}

}  // namespace
}  // namespace d9d
