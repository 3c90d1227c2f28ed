#include "runtime/base/count.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace d9d {
namespace {

TEST(Counted, IsSingularForOneOnly) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(std::uint64_t{2}, "step"), "2 steps");
  EXPECT_EQ(counted(std::size_t{0}, "context-parallel rank"), "0 context-parallel ranks");
  EXPECT_EQ(counted(8, "microbatch"), "8 microbatches");
  EXPECT_EQ(counted(2, "epoch"), "2 epochs");
}

}  // namespace
}  // namespace d9d
