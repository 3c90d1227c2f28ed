#include "runtime/nn/block/block_cache.hpp"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace d9d::test {
namespace {

TEST(NewTokens, StandBehindThoseOfTheirSequences) {
  const NewTokens tokens{{{4, 0, 3}, {1, 7, 1}, {0, 2, 2}}};

  EXPECT_EQ(tokens.counted(), 6);
  EXPECT_TRUE(tokens.positions(8).equal(at::tensor({0L, 1L, 2L, 7L, 2L, 3L, 0L, 0L}).unsqueeze(0)));
}

}  // namespace
}  // namespace d9d::test
