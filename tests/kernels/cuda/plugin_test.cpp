// libd9d_cuda.so loads and registers where it was built, with a GPU or without: these tests are never skipped.
#include <c10/core/TensorImpl.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "kernels/linear.hpp"
#include "kernels/run_op.hpp"
#include "runtime/comm/device_plugin.hpp"

namespace d9d {
namespace {

// Of a CUDA device, without memory: enough to find its op table.
at::Tensor nowhere() {
  return at::Tensor(c10::make_intrusive<c10::TensorImpl>(c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                                         caffe2::TypeMeta::Make<float>(),
                                                         c10::Device(at::kCUDA, 0)));
}

std::string refusal_of_a_missing_op() {
  try {
    kernels::run_op(&kernels::OpTable::delta_rule_steps, nowhere(), nowhere(), nowhere(), nowhere(),
                    nowhere(), nowhere(), kernels::CacheStretches{}, kernels::DeltaRuleOptions{});
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "nothing";
}

TEST(CudaPlugin, IsBesideTheProgramAndLoads) {
  EXPECT_THAT(device_plugin_path(), testing::EndsWith("/libd9d_cuda.so"));
  EXPECT_TRUE(std::filesystem::exists(device_plugin_path()));

  const DevicePlugin plugin;

  EXPECT_GE(plugin.num_devices(), 0);
}

TEST(CudaPlugin, RegistersItsOpTable) {
  const DevicePlugin plugin;

  EXPECT_THAT(refusal_of_a_missing_op(), testing::HasSubstr("the device's op table is without this op"));
}

}  // namespace
}  // namespace d9d
