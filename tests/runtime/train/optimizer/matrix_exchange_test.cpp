#include "runtime/train/optimizer/matrix_exchange.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <map>
#include <mutex>

#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

// Of 8 ranks, 2 x 2 x 2: a matrix cut in both dimensions and replicated; one cut unevenly, so that some ranks have no
// row; a stack of five whose matrices lie on four ranks, each in two parts.
std::vector<Layout> layouts_of(int rank) {
  const int a = rank / 4;
  const int b = rank / 2 % 2;
  const int c = rank % 2;
  return {Layout({6, 5}, {sharded("tp", 2, c, 1), replicated("dp", 2, a), sharded("fsdp", 2, b, 0)}),
          Layout({3, 4}, {sharded("tp", 2, c, 0), sharded("fsdp", 2, b, 0), replicated("dp", 2, a)}),
          Layout({5, 2, 4}, {sharded("ep", 4, rank / 2, 0), sharded("ep_replicate", 2, c, 2)})};
}

at::Tensor block_at(const at::Tensor& flat_block, const Layout& layout, std::int64_t index) {
  return layout.global_shape().size() == 3 ? flat_block[index] : flat_block;
}

const char* name_at(std::size_t parameter) {
  constexpr const char* names[] = {"both", "uneven", "stack"};
  return names[parameter];
}

TEST(MatrixExchange, ComputesEachMatrixOnceAndGivesEveryRankItsBlocks) {
  std::mutex mutex;
  int computed = 0;
  std::map<int, int> blocks_of_rank;

  on_ranks(8, [&](int rank, const std::shared_ptr<Communicator>& group) {
    const std::vector<Layout> layouts = layouts_of(rank);
    const auto block_in = [&](const MatrixBlock& which) {
      const Layout& layout = layouts[which.parameter];
      const at::Tensor global = wave(name_at(which.parameter), layout.global_shape());
      return block_at(block_of(global, layout.local_slice()), layout, which.index);
    };
    const MatrixExchange exchange(layouts, group);

    exchange.run(
        at::kDouble, block_in,
        [&](const at::Tensor& whole) {
          const std::lock_guard lock(mutex);
          ++computed;
          return whole * 2 + whole.sum();  // depends on all blocks
        },
        [&](const MatrixBlock& which, const at::Tensor& block) {
          const Layout& layout = layouts[which.parameter];
          at::Tensor global = wave(name_at(which.parameter), layout.global_shape()).to(at::kDouble);
          global = global * 2 + (global.dim() == 3 ? global.sum({1, 2}, true) : global.sum());
          const at::Tensor expected = block_at(block_of(global, layout.local_slice()), layout, which.index);
          EXPECT_LT((block - expected).abs().max().item<double>(), 1e-9) << rank << " " << which.parameter;
          const std::lock_guard lock(mutex);
          ++blocks_of_rank[rank];
        });
  });

  EXPECT_EQ(computed, 2 + 5);
  // Each has its blocks of the two matrices, where it has rows, and of one or two of the stack.
  for (int rank = 0; rank < 8; ++rank) {
    const std::vector<Layout> layouts = layouts_of(rank);
    const int with_rows = layouts[1].local_slice().num_elements() > 0 ? 2 : 1;
    EXPECT_EQ(blocks_of_rank[rank], with_rows + layouts[2].local_slice().shape().front()) << rank;
  }
}

TEST(MatrixExchange, SharesTheWorkByTheSizeOfMatrices) {
  std::mutex mutex;
  std::map<int, std::vector<std::int64_t>> rows_of_rank;

  on_ranks(2, [&](int rank, const std::shared_ptr<Communicator>& group) {
    std::vector<Layout> layouts;
    for (const std::int64_t rows : {2, 40, 2, 2, 2})
      layouts.emplace_back(std::vector<std::int64_t>{rows, 50},
                           std::vector<LayoutAxis>{replicated("dp", 2, rank)});
    MatrixExchange(layouts, group)
        .run(
            at::kFloat,
            [&](const MatrixBlock& which) { return at::full(layouts[which.parameter].global_shape(), 1.0); },
            [&](const at::Tensor& whole) {
              const std::lock_guard lock(mutex);
              rows_of_rank[rank].push_back(whole.size(0));
              return whole;
            },
            [](const MatrixBlock&, const at::Tensor&) {});
  });

  EXPECT_THAT(rows_of_rank[0], testing::ElementsAre(40));
  EXPECT_THAT(rows_of_rank[1], testing::ElementsAre(2, 2, 2, 2));
}

TEST(MatrixExchange, NeedsNoGroupOnOneRank) {
  const std::vector<Layout> layouts{Layout::local({2, 3}), Layout::local({2, 3, 2})};
  int blocks = 0;

  MatrixExchange(layouts, nullptr)
      .run(
          at::kFloat,
          [&](const MatrixBlock& which) {
            return block_at(wave("w", layouts[which.parameter].global_shape()), layouts[which.parameter],
                            which.index);
          },
          [](const at::Tensor& whole) { return whole.neg(); },
          [&](const MatrixBlock& which, const at::Tensor& block) {
            const Layout& layout = layouts[which.parameter];
            EXPECT_TRUE(
                at::equal(block, block_at(wave("w", layout.global_shape()), layout, which.index).neg()));
            ++blocks;
          });

  EXPECT_EQ(blocks, 3);
}

}  // namespace
}  // namespace d9d
