#include "runtime/tensor/layout.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

LayoutAxis axis(const char* name, int size, int index, Placement placement) {
  return {name, size, index, placement};
}

TEST(Layout, LocalLayoutIsTheWholeTensor) {
  const Layout layout = Layout::local({3, 5});

  EXPECT_EQ(layout.local_slice(), whole({3, 5}));
  EXPECT_TRUE(layout.is_writer());
  EXPECT_TRUE(layout.replicate_axes().empty());
}

TEST(Layout, UnevenShardsCoverTheTensorOnce) {
  std::int64_t next = 0;

  for (int i = 0; i < 4; ++i) {
    const Slice slice = Layout({10, 2}, {axis("dp", 4, i, Placement::shard(0))}).local_slice();
    EXPECT_EQ(slice.begin[0], next);
    next = slice.end[0];
  }

  EXPECT_EQ(next, 10);
}

TEST(Layout, TwoAxesOnOneDimensionNestTheFirstOutside) {
  const Layout layout({8}, {axis("tp", 2, 1, Placement::shard(0)), axis("dp", 2, 0, Placement::shard(0))});

  EXPECT_EQ(layout.local_slice(), (Slice{{4}, {6}}));
}

TEST(Layout, SumsGradientsOverReplicateAxesOnly) {
  const Layout layout(
      {8, 4}, {axis("dp_replicate", 2, 1, Placement::replicate()),
               axis("ep_shard", 4, 2, Placement::shard(0)), axis("cp", 1, 0, Placement::replicate())});

  EXPECT_EQ(layout.replicate_axes(), std::vector<std::string>{"dp_replicate"});
  EXPECT_EQ(layout.shard_axes(), std::vector<std::string>{"ep_shard"});
  EXPECT_FALSE(layout.is_writer());
}

TEST(Layout, SlicesMeetInTheirCommonBlock) {
  const Slice both = intersection({{0, 2}, {4, 6}}, {{2, 0}, {8, 3}});

  EXPECT_EQ(both, (Slice{{2, 2}, {4, 3}}));
  EXPECT_EQ(intersection({{0}, {2}}, {{2}, {4}}).num_elements(), 0);
}

}  // namespace
}  // namespace d9d
