// The ops under test are those of a GPU.
#include <c10/core/DeviceType.h>

#include "kernels/memory/host_values.hpp"
#include "kernels/run_op.hpp"
#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/runtime/devices/cuda/gpu_fixture.hpp"

namespace d9d::test {

struct CudaOps::Place {
  DevicePlugin plugin{DeviceLibrary::cuda};
};

CudaOps::CudaOps() : place_(std::make_unique<Place>()) {}
CudaOps::~CudaOps() = default;

void CudaOps::SetUp() {
  if (place_->plugin.num_devices() > 0) return;
  if (requires_gpu()) FAIL() << "D9D_REQUIRE_GPU=1, and CUDA finds no GPU";
  GTEST_SKIP() << "no GPU";
}

namespace {
bool host_knows = true;
}

void choose_run(int run) {
  host_knows = run % 2 == 0;
}

const kernels::OpTable& table_under_test() {
  static const at::Tensor of_gpu = at::Tensor(
      c10::make_intrusive<c10::TensorImpl>(c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           caffe2::TypeMeta::Make<float>(), c10::Device(at::kCUDA, 0)));
  return kernels::op_detail::table_of("test", &of_gpu);
}

at::Tensor there(const at::Tensor& tensor) {
  const auto elements = static_cast<int64_t>(tensor.storage().nbytes() / tensor.element_size());
  const at::Tensor here = tensor.as_strided({elements}, {1}, 0), copy = here.to(at::kCUDA);
  if (host_knows && !here.is_floating_point()) kernels::keep_host_values(copy, here);
  return copy.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

}  // namespace d9d::test
