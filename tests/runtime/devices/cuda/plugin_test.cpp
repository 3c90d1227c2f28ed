// libd9d_cuda.so loads and registers where it was built, with a GPU or without: these tests are never skipped.
#include <c10/core/TensorImpl.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "kernels/ops/every_op.hpp"
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

TEST(CudaPlugin, IsBesideTheProgramAndLoads) {
  EXPECT_THAT(device_plugin_path(DeviceLibrary::cuda), testing::EndsWith("/libd9d_cuda.so"));
  EXPECT_TRUE(std::filesystem::exists(device_plugin_path(DeviceLibrary::cuda)));

  const DevicePlugin plugin(DeviceLibrary::cuda);

  EXPECT_GE(plugin.num_devices(), 0);
}

TEST(CudaPlugin, RegistersAFunctionForEveryOp) {
  const DevicePlugin plugin(DeviceLibrary::cuda);
  const at::Tensor there = nowhere();
  const at::Tensor* const tensors[] = {&there};

  const kernels::OpTable& table = kernels::op_detail::table_of("any op", tensors);

  kernels::for_each_op([&]<auto op>() {
    EXPECT_NE((table.*op).function(), nullptr) << (kernels::op_detail::names.*op).name();
  });
}

}  // namespace
}  // namespace d9d
