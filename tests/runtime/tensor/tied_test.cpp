#include "runtime/tensor/tied.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(Tied, OneCopyWritesAndBothHoldTheWholeBlock) {
  const LayoutAxis half{"tp", 2, 1, Placement::shard(0)};
  const Layout first({6, 3}, {axis_of_tied_copy(0), half});
  const Layout last({6, 3}, {axis_of_tied_copy(1), half});

  EXPECT_EQ(tied_copy(first), 0);
  EXPECT_EQ(tied_copy(last), 1);
  EXPECT_EQ(tied_copy(Layout({6, 3}, {half})), std::nullopt);
  EXPECT_TRUE(first.is_writer());
  EXPECT_FALSE(last.is_writer());
  EXPECT_EQ(first.local_slice(), last.local_slice());
  EXPECT_EQ(last.local_slice().shape(), (std::vector<std::int64_t>{3, 3}));
}

}  // namespace
}  // namespace d9d
