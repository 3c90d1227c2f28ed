#include "tests/kernels/cuda/emulated/fenced_memory.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
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

// Products in bf16 of oneDNN, where the CPU has instructions for them.
TEST(FencedMemory, IsThereForThoseWhoKeepNoOwner) {
  const FencedMemory memory;
  c10::Allocator* const allocator = c10::GetCPUAllocator();

  void* const data = allocator->raw_allocate(12);

  EXPECT_EQ(static_cast<const unsigned char*>(data)[11], 0xff);
  allocator->raw_deallocate(data);
}

}  // namespace
}  // namespace d9d::test
