// What libd9d_delayed.so says of itself; that it is found and loaded is for tests/actors/cli/use_device_test.
#include <gtest/gtest.h>

#include "runtime/comm/device_plugin.hpp"
#include "runtime/comm/device_plugin_build.hpp"
#include "runtime/comm/nccl/api.hpp"
#include "runtime/device/device.hpp"

extern "C" const d9d::DevicePluginApi* d9d_device_plugin();

namespace d9d {
namespace {

TEST(DelayedPlugin, BringsEightDevicesAndNccl) {
  const DevicePluginApi& api = *d9d_device_plugin();

  EXPECT_STREQ(api.build, device_plugin_build);
  EXPECT_EQ(api.num_devices(), 8);
  api.register_ops();
  EXPECT_EQ(api.make_device(7)->place().str(), "delayed:7");
  EXPECT_EQ(api.nccl->device_type, c10::DeviceType::PrivateUse1);
}

}  // namespace
}  // namespace d9d
