#include "tests/kernels/cuda/emulated/fenced_memory.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>

namespace d9d::test {
namespace {

TEST(FencedMemoryDeathTest, ATensorEndsAtAFence) {
  const FencedMemory memory;
  const at::Tensor tensor = at::empty({4}, at::kFloat);
  volatile float* const data = tensor.data_ptr<float>();

  EXPECT_TRUE(std::isnan(data[3]));
  EXPECT_DEATH(data[4] = 1, "");
}

TEST(FencedMemoryDeathTest, AWriteBehindAnOddTensorIsFoundWhenItIsFreed) {
  const FencedMemory memory;

  EXPECT_DEATH(
      {
        const at::Tensor tensor = at::empty({3}, at::kFloat);
        static_cast<volatile float*>(tensor.data_ptr())[3] = 1;
      },
      "written beyond the end of a tensor");
}

}  // namespace
}  // namespace d9d::test
