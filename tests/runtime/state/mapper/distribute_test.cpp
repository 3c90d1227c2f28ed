#include "runtime/state/mapper/distribute.hpp"

#include <gtest/gtest.h>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d {
namespace {

using test::counting;
using test::error_of;
using test::same;
using testing::HasSubstr;

Layout layout_of(const Shape& shape, int outer, int inner, int rank, Placement on_outer, Placement on_inner) {
  return Layout(shape, {{"outer", outer, rank / inner, on_outer}, {"inner", inner, rank % inner, on_inner}});
}

TEST(Distribute, CutsTheBlockOfTheRankOutOfTheWholeTensor) {
  const auto layout = layout_of({5, 4}, 2, 2, 3, Placement::shard(0), Placement::shard(1));
  const auto mapper = sequential({rename("w", "x"), distribute("x", layout)});
  const auto full = counting({5, 4});

  const auto block = mapper->apply({{"w", full}}).at("x");
  const auto pieces = mapper->trace("x", whole({2, 2}), {{"w", full}});

  EXPECT_TRUE(same(block, full.narrow(0, 3, 2).narrow(1, 2, 2)));
  ASSERT_EQ(pieces->size(), 1U);
  EXPECT_EQ((*pieces)[0].from, layout.local_slice());
  EXPECT_THAT(error_of([&] {
                mapper->apply({{"w", counting({4, 4})}});
              }),
              HasSubstr("its layout says [5, 4]"));
}

// Distributes on all ranks of a 3 x 2 mesh, gathers again on threads.
void expect_gathered(const Shape& shape, Placement on_outer, Placement on_inner) {
  const auto full = counting(shape);
  SharedMemoryHub hub;
  const auto run = [&](int rank) {
    const int outer_index = rank / 2, inner_index = rank % 2;
    const auto group = [](std::string name, std::vector<int> ranks, int index) {
      return Group{.name = std::move(name), .ranks = std::move(ranks), .index = index};
    };
    const auto outer = hub.open(group(fmt::format("outer{}", inner_index),
                                      {inner_index, 2 + inner_index, 4 + inner_index}, outer_index),
                                std::chrono::seconds(20));
    const auto inner = hub.open(
        group(fmt::format("inner{}", outer_index), {2 * outer_index, 2 * outer_index + 1}, inner_index),
        std::chrono::seconds(20));
    const auto layout = layout_of(shape, 3, 2, rank, on_outer, on_inner);
    const auto block = distribute("w", layout)->apply({{"w", full}});
    const auto back =
        gather_full_tensor("w", layout, {{"outer", outer.get()}, {"inner", inner.get()}})->apply(block);
    EXPECT_TRUE(same(back.at("w"), full)) << "rank " << rank;
  };
  test::in_threads(6, run);
}

TEST(GatherFullTensor, BringsTheWholeTensorToEveryRank) {
  expect_gathered({6, 4}, Placement::shard(0), Placement::shard(1));
  expect_gathered({6, 4}, Placement::shard(1), Placement::replicate());
  expect_gathered({6, 4}, Placement::replicate(), Placement::replicate());
}

TEST(GatherFullTensor, TakesUnevenAndEmptyBlocksAndTwoAxesOnOneDim) {
  expect_gathered({7, 5}, Placement::shard(0), Placement::shard(1));
  expect_gathered({11, 3}, Placement::shard(0), Placement::shard(0));
  expect_gathered({2, 3}, Placement::shard(0), Placement::shard(1));
}

TEST(GatherFullTensor, SaysWhichAxisHasNoCommunicator) {
  const auto layout = layout_of({4}, 2, 2, 0, Placement::shard(0), Placement::replicate());

  EXPECT_THAT(error_of([&] { gather_full_tensor("w", layout, {}); }), HasSubstr("sharded over outer"));
}

}  // namespace
}  // namespace d9d
