// NCCL itself, as far as it can be asked without a GPU.
#include "runtime/comm/nccl/api.hpp"

#include <gmock/gmock.h>

#include "runtime/comm/device_plugin.hpp"

namespace d9d {
namespace {

TEST(CudaPlugin, HandsOverAllFunctionsOfNccl) {
  const DevicePlugin plugin(DeviceLibrary::cuda);
  const nccl::Api& api = plugin.nccl();
  nccl::UniqueId id{};

  for (const auto* function = reinterpret_cast<void* const*>(&api.text_of);
       function <= reinterpret_cast<void* const*>(&api.query); ++function) {
    EXPECT_NE(*function, nullptr);
  }
  EXPECT_EQ(api.unique_id(&id), nccl::success);  // the library itself, without a GPU
  EXPECT_THAT(api.text_of(6), testing::HasSubstr("remote"));
}

}  // namespace
}  // namespace d9d
