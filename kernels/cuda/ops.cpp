#include "kernels/cuda/ops.hpp"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include "kernels/cuda/capability.hpp"
#include "kernels/cuda/unwrap.hpp"

namespace d9d::cuda {
namespace {

kernels::OpTable make_table() {
  kernels::OpTable table;
  for (const auto add : {add_activation, add_attention, add_block_quantization, add_copy_pieces,
                         add_cross_entropy, add_delta_gates, add_delta_rule, add_embedding, add_experts,
                         add_grouped_linear, add_matmul, add_norm, add_optimizer, add_permute, add_rope,
                         add_router, add_short_convolution, add_stochastic_adamw, add_token_cache})
    add(table);
  table.place = kernels::Place::gpu;
  return table;
}

}  // namespace

const kernels::OpTable& op_table() {
  static const kernels::OpTable table = make_table();
  return table;
}

CUstream_st* stream_of(const at::Tensor& tensor) {
  return c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream();
}

const char* error_text(int code) {
  return cudaGetErrorString(static_cast<cudaError_t>(code));
}

int compute_capability(const at::Tensor& tensor) {
  const int device = tensor.device().index();
  int major = 0, minor = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return 10 * major + minor;
}

}  // namespace d9d::cuda
