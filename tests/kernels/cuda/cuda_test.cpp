// The CUDA plugin against the CPU kernels and against the
// communicators' contract. Skips itself where it cannot run.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sin.h>
#include <gtest/gtest.h>

#include <thread>

#include "kernels/activation.hpp"
#include "kernels/norm.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/device_plugin.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using Maybe = std::optional<at::Tensor>;

at::Tensor wave(std::vector<std::int64_t> shape, double phase, at::ScalarType dtype) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return at::sin(at::arange(count, at::kDouble).mul(0.37).add(phase)).to(dtype).view(shape);
}

double tolerance(at::ScalarType dtype) {
  return dtype == at::kFloat ? 2e-6 : 1.6e-2;
}

void expect_close(const at::Tensor& cuda, const at::Tensor& cpu, at::ScalarType dtype) {
  const double bound = tolerance(dtype);
  EXPECT_TRUE(at::allclose(cuda.cpu().to(at::kDouble), cpu.to(at::kDouble), bound, bound))
      << c10::toString(dtype);
}

template <class Signature, class... Arguments>
auto call(const char* name, Arguments&&... arguments) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  return op.typed<Signature>().call(std::forward<Arguments>(arguments)...);
}

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    try {
      plugin_ = std::make_unique<DevicePlugin>(D9D_BINARY_DIR "/libd9d_cuda.so");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    if (plugin_->num_devices() == 0) GTEST_SKIP() << "no GPU";
  }
  std::unique_ptr<DevicePlugin> plugin_;
};

TEST_F(Cuda, RmsNormEqualsTheCpuKernel) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t width : {1, 31, 256, 1000}) {
      const at::Tensor x = wave({5, 3, width}, 0, dtype).requires_grad_();
      const at::Tensor weight = wave({width}, 1, dtype).requires_grad_();
      const at::Tensor dy = wave({5, 3, width}, 2, dtype);
      const at::Tensor y = kernels::rms_norm(x, weight, 1e-6);
      y.backward(dy);

      const auto there = [](const at::Tensor& tensor) { return tensor.detach().cuda(); };
      const auto [y_cuda, sum, inverse] = call<std::tuple<at::Tensor, at::Tensor, at::Tensor>(
          const at::Tensor&, const Maybe&, const at::Tensor&, double, double)>(
          "d9d::rms_norm_forward", there(x), Maybe(), there(weight), 1e-6, 0.0);
      const auto [dx, dw] =
          call<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const Maybe&,
                                                  const at::Tensor&, const at::Tensor&, double, bool)>(
              "d9d::rms_norm_backward", there(dy), there(x), Maybe(), there(weight), inverse, 0.0, true);

      expect_close(y_cuda, y.detach(), dtype);
      expect_close(dx, x.grad(), dtype);
      expect_close(dw, weight.grad(), dtype);
    }
  }
}

TEST_F(Cuda, SiluMulEqualsTheCpuKernel) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor both = wave({70, 2 * 33}, 0, dtype);  // strided halves, as linear_multi gives them
    const at::Tensor gate = both.narrow(1, 0, 33).detach().requires_grad_();
    const at::Tensor up = both.narrow(1, 33, 33).detach().requires_grad_();
    const at::Tensor d_out = wave({70, 33}, 2, dtype);
    const at::Tensor out = kernels::silu_mul(gate, up);
    out.backward(d_out);

    const at::Tensor there = both.cuda();
    const at::Tensor g = there.narrow(1, 0, 33);
    const at::Tensor u = there.narrow(1, 33, 33);
    const auto out_cuda =
        call<at::Tensor(const at::Tensor&, const at::Tensor&)>("d9d::silu_mul_forward", g, u);
    const auto [d_gate, d_up] =
        call<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const at::Tensor&)>(
            "d9d::silu_mul_backward", d_out.cuda(), g, u);

    expect_close(out_cuda, out.detach(), dtype);
    expect_close(d_gate, gate.grad(), dtype);
    expect_close(d_up, up.grad(), dtype);
  }
}

TEST_F(Cuda, NcclSumsBetweenGpusAndTakesCpuTensorsToo) {
  const int ranks = std::min(plugin_->num_devices(), 4);
  const test::TemporaryFolder folder;
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto group = plugin_->open_nccl({"all", all, rank, true}, folder.path().string(), rank,
                                            std::chrono::seconds(60));
      at::Tensor there =
          at::full({1000}, rank + 1.0, at::Device(at::kCUDA, static_cast<at::DeviceIndex>(rank)));
      at::Tensor here = at::full({3}, rank + 1.0, at::kDouble);

      group->all_reduce(there, ReduceOp::sum);
      group->wait();
      group->all_reduce(here, ReduceOp::max);

      EXPECT_EQ(there[999].item<float>(), ranks * (ranks + 1) / 2.0F);
      EXPECT_EQ(here[0].item<double>(), ranks);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace d9d
