#pragma once
// The base of tests that need a GPU. Without one they are skipped, with D9D_REQUIRE_GPU=1 they fail. A plugin that does
// not load is a failure everywhere.

#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/comm/device_plugin.hpp"

namespace d9d::test {

inline bool requires_gpu() {
  const char* const given = std::getenv("D9D_REQUIRE_GPU");
  return given != nullptr && given == std::string("1");
}

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (plugin_.num_devices() > 0) return;
    if (requires_gpu()) FAIL() << "D9D_REQUIRE_GPU=1, and CUDA finds no GPU";
    GTEST_SKIP() << "no GPU";
  }
  const DevicePlugin plugin_{DeviceLibrary::cuda};
};

}  // namespace d9d::test
