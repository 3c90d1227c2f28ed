#include "runtime/device/determinism.hpp"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace d9d::test {
namespace {

TEST(Determinism, IsAskedOfTorchAndItsLibrariesAndLeavesWhatTheUserChose) {
  at::Context& torch = at::globalContext();
  setenv("NCCL_ALGO", "Tree", 1);

  compute_deterministically();

  EXPECT_TRUE(torch.deterministicAlgorithms());
  EXPECT_FALSE(torch.deterministicAlgorithmsWarnOnly());
  EXPECT_FALSE(torch.deterministicFillUninitializedMemory());
  EXPECT_TRUE(torch.deterministicCuDNN());
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
  EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Tree");
  EXPECT_STREQ(std::getenv("NCCL_NVLS_ENABLE"), "0");

  torch.setDeterministicAlgorithms(false, false);
  torch.setDeterministicCuDNN(false);
  for (const char* name : {"CUBLAS_WORKSPACE_CONFIG", "NCCL_ALGO", "NCCL_NVLS_ENABLE"}) unsetenv(name);
}

}  // namespace
}  // namespace d9d::test
