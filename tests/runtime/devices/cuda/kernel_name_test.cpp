#include <gtest/gtest.h>

#include <string>

#include "runtime/devices/cuda/kernel_name.hpp"

namespace d9d::cuda {
namespace {

TEST(KernelName, IsWhatPeopleCallItWithoutParameters) {
  EXPECT_EQ(kernel_name("_ZN3d9d4cuda8rms_normIfEEvPKT_PS2_i"), "d9d::cuda::rms_norm<float>");
  EXPECT_EQ(kernel_name("_ZN3d9d4cuda12_GLOBAL__N_18rms_normEPKfi"), "d9d::cuda::rms_norm");
  EXPECT_EQ(kernel_name("ampere_sgemm_128x64_nn"), "ampere_sgemm_128x64_nn") << "no symbol of C++";
  EXPECT_EQ(kernel_name(nullptr), "a kernel without a name");
}

TEST(KernelName, KeepsTemplateArgumentsWithParentheses) {
  // ATen's are told apart by these alone.
  EXPECT_EQ(kernel_name("_Z6kernelIPFvifEEvT_"), "kernel<void (*)(int, float)>");
}

TEST(KernelName, IsCutWhereItWouldFillPages) {
  std::string many = "_Z6kernelIJ";
  for (int i = 0; i < 100; ++i) many += "f";
  many += "EEvv";

  const std::string name = kernel_name(many.c_str());

  EXPECT_EQ(name.size(), 160U);
  EXPECT_TRUE(name.starts_with("kernel<float, float"));
  EXPECT_TRUE(name.ends_with("..."));
}

}  // namespace
}  // namespace d9d::cuda
