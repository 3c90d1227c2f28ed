#include "runtime/devices/delayed/backend.hpp"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace d9d::delayed {
namespace {

TEST(DelayedBackend, IsKnownToTorchByItsName) {
  install();
  install();

  const at::Tensor x = at::ones({2}, at::Device("delayed:3"));

  EXPECT_EQ(x.device().str(), "delayed:3");
  EXPECT_EQ(x.add(1).device(), x.device());
  EXPECT_EQ(x.sum().item<float>(), 2);
}

}  // namespace
}  // namespace d9d::delayed
