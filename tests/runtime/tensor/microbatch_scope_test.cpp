#include "runtime/tensor/microbatch_scope.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace d9d::test {
namespace {

TEST(MicrobatchScope, NestsAndBelongsToItsThread) {
  const MicrobatchScope outer({.step = 1});
  {
    const MicrobatchScope inner({.step = 2, .microbatch = 5});
    EXPECT_EQ(MicrobatchScope::current().microbatch, 5);
    std::thread([] { EXPECT_EQ(MicrobatchScope::current().step, 0U); }).join();
  }
  EXPECT_EQ(MicrobatchScope::current().step, 1U);
}

}  // namespace
}  // namespace d9d::test
