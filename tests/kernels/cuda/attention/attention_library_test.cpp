// Which library computes attention in bfloat16 on a GPU, as the names of its
// kernels tell.
#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <dlfcn.h>

#include "kernels/attention/attention_block.hpp"
#include "runtime/device/device.hpp"
#include "tests/runtime/devices/cuda/gpu_fixture.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d {
namespace {

using kernels::AttentionMask;
using kernels::causal_mask;
using kernels::full_mask;

// CUDA's runtime has come with the plugin; this binary has none of its own.
bool is_hopper_or_newer() {
  using Query = int (*)(int* value, int attribute, int device);
  void* const runtime = dlopen("libcudart.so.13", RTLD_LAZY | RTLD_NOLOAD);
  const auto query = reinterpret_cast<Query>(runtime ? dlsym(runtime, "cudaDeviceGetAttribute") : nullptr);
  constexpr int major_capability = 75;  // cudaDevAttrComputeCapabilityMajor
  int major = 0;
  return query != nullptr && query(&major, major_capability, 0) == 0 && major >= 9;
}

struct Attended {
  at::Tensor dq;
  std::int64_t of_cudnn = 0, of_flash = 0;  // kernels of forward and backward
};

class AttentionLibrary : public test::OnGpu {
 protected:
  Attended attend(std::int64_t length, std::int64_t dim, const AttentionMask& mask,
                  const kernels::VisibleKeys& visible = {}) {
    const auto heads = [&](std::int64_t count, std::uint64_t seed) {
      return test::values({1, length, count, dim}, seed, at::kBFloat16).to(at::kCUDA);
    };
    const at::Tensor q = heads(8, 1), k = heads(2, 2), v = heads(2, 3), grad = heads(8, 4);
    const auto device = plugin_.device(0);
    EXPECT_EQ(device->note_kernels(true), "");

    const auto block = kernels::attention_block(q, k, v, mask, 0.1, at::kBFloat16, visible);
    Attended done{
        kernels::attention_block_backward(grad, q, k, v, block, mask, 0.1, at::kBFloat16, visible).dq};
    device->finish();

    for (const KernelRun& kernel : device->take_kernels()) {
      done.of_cudnn += kernel.name.find("cudnn") != std::string::npos;
      done.of_flash += kernel.name.find("pytorch_flash") != std::string::npos;
    }
    EXPECT_EQ(device->note_kernels(false), "");
    return done;
  }
};

TEST_F(AttentionLibrary, IsCudnnForWholeRowsOfUsualLengthsOnHopper) {
  if (!is_hopper_or_newer()) GTEST_SKIP() << "older than compute capability 9.0";
  for (const std::int64_t dim : {64, 128}) {
    for (const AttentionMask& mask : {causal_mask, full_mask}) {
      for (const std::int64_t length : {128, 1024}) {
        const Attended done = attend(length, dim, mask);
        EXPECT_GE(done.of_cudnn, 2) << length << " tokens, heads of " << dim;
        EXPECT_EQ(done.of_flash, 0) << length << " tokens, heads of " << dim;
      }
    }
  }
}

TEST_F(AttentionLibrary, IsFlashAttentionForAllElse) {
  const auto expect_flash = [](const Attended& done, const char* what) {
    EXPECT_GE(done.of_flash, 2) << what;
    EXPECT_EQ(done.of_cudnn, 0) << what;
  };
  expect_flash(attend(256, 128, {100, 0, 0}), "a window");
  expect_flash(attend(257, 128, causal_mask), "a length of its own");
  const at::Tensor first = at::tensor({0, 0, 0, 3, 3, 3, 3, 7}, at::kLong).view({1, 8}).to(at::kCUDA);
  expect_flash(attend(8, 128, causal_mask, {first}), "documents");
  at::globalContext().setSDPUseCuDNN(false);
  expect_flash(attend(256, 128, causal_mask), "switched off");
  at::globalContext().setSDPUseCuDNN(true);
}

TEST_F(AttentionLibrary, HasTheSameBitsInEveryRunWhereDeterminismIsStrict) {
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  const at::Tensor first = attend(1024, 128, causal_mask).dq;
  for (int run = 0; run < 3; ++run) {
    const Attended again = attend(1024, 128, causal_mask);
    EXPECT_TRUE(at::equal(again.dq, first));
    EXPECT_EQ(again.of_cudnn, 0);
  }
  at::globalContext().setDeterministicAlgorithms(false, /*warn_only=*/false);
}

}  // namespace
}  // namespace d9d
