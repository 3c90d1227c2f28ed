// The ops under test are CUDA's kernels, on a grid that the host emulates. Their tensors are fenced.
#include "kernels/cuda/capability.hpp"
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/unwrap.hpp"
#include "kernels/memory/host_values.hpp"
#include "tests/kernels/cuda/emulated/fenced_memory.hpp"
#include "tests/kernels/cuda/emulated/scheduler.hpp"
#include "tests/kernels/cuda/same_as_cpu.hpp"

namespace d9d::test {
namespace {

bool& host_knows() {
  static bool of_run = true;
  return of_run;
}

}  // namespace
}  // namespace d9d::test

// The linker gives it the calls of host_values from other files (--wrap in CMakeLists.txt), because tensors of the
// emulated device are the host's, which knows them all; a GPU's it knows only where they came from it.
extern "C" {
at::Tensor __real__ZN3d9d7kernels11host_valuesERKN2at6TensorE(const at::Tensor& tensor);
at::Tensor __wrap__ZN3d9d7kernels11host_valuesERKN2at6TensorE(const at::Tensor& tensor) {
  return d9d::test::host_knows() ? __real__ZN3d9d7kernels11host_valuesERKN2at6TensorE(tensor) : at::Tensor();
}
}

namespace d9d {

CUstream_st* cuda::stream_of(const at::Tensor&) {
  return nullptr;
}
const char* cuda::error_text(int) {
  return "of the emulated grid";
}
int cuda::compute_capability(const at::Tensor&) {
  return 90;
}

namespace test {

struct CudaOps::Place {
  FencedMemory memory;
};

CudaOps::CudaOps() : place_(std::make_unique<Place>()) {}
CudaOps::~CudaOps() = default;
void CudaOps::SetUp() {}

void choose_run(int run) {
  cuda::emulated::choose_order(static_cast<std::uint64_t>(run) + 1);
  host_knows() = run % 2 == 0;
}

// Without what calls CUDA's libraries.
const kernels::OpTable& table_under_test() {
  static const kernels::OpTable table = [] {
    kernels::OpTable own;
    for (const auto add :
         {cuda::add_activation, cuda::add_attention, cuda::add_block_quantization, cuda::add_copy_pieces,
          cuda::add_cross_entropy, cuda::add_delta_gates, cuda::add_delta_rule, cuda::add_embedding,
          cuda::add_experts, cuda::add_grouped_linear, cuda::add_norm, cuda::add_optimizer, cuda::add_permute,
          cuda::add_rope, cuda::add_router, cuda::add_short_convolution, cuda::add_stochastic_adamw,
          cuda::add_token_cache})
      add(own);
    own.place = kernels::Place::gpu;
    return own;
  }();
  return table;
}

at::Tensor there(const at::Tensor& tensor) {
  return copy_here(tensor);
}

}  // namespace test
}  // namespace d9d
