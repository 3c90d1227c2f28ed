#include "runtime/nn/attention/block_cache.hpp"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"

namespace d9d::test {
namespace {

TEST(NewTokens, StandBehindThoseOfTheirSequences) {
  const NewTokens tokens{{{4, 0, 3}, {1, 7, 1}, {0, 2, 2}}};

  EXPECT_EQ(tokens.counted(), 6);
  EXPECT_TRUE(tokens.positions(8).equal(at::tensor({0L, 1L, 2L, 7L, 2L, 3L, 0L, 0L}).unsqueeze(0)));
}

TEST(NewTokens, HaveIndicesOnADeviceOnceForAllBlocks) {
  const NewTokens tokens;
  const at::Device place = delayed_device(0)->place();

  const at::Tensor first = tokens.indices({3, 1}, place);

  EXPECT_TRUE(tokens.indices({3, 1}, place).is_same(first));
  EXPECT_FALSE(tokens.indices({3, 2}, place).is_same(first));
  EXPECT_EQ(first.device(), place);
  EXPECT_TRUE(first.cpu().equal(at::tensor({3L, 1L})));
  EXPECT_TRUE(tokens.indices({3, 1}, at::kCPU).equal(at::tensor({3L, 1L})));
}

}  // namespace
}  // namespace d9d::test
