// The CUDA plugin against the CPU's ops and against the communicators' contract. Needs a GPU.
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sin.h>
#include <gtest/gtest.h>

#include <thread>

#include "kernels/activation.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/norm.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/world.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "tests/runtime/devices/cuda/gpu_fixture.hpp"

namespace d9d {
namespace {

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

using Cuda = test::OnGpu;

at::Tensor leaf_on(at::Device device, const at::Tensor& tensor) {
  return tensor.detach().to(device).requires_grad_();
}

TEST_F(Cuda, SmallRmsNormsEqualTheCpus) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t width : {1, 31, 256, 1000}) {
      const auto run = [&](at::Device device) {
        const at::Tensor x = leaf_on(device, wave({5, 3, width}, 0, dtype));
        const at::Tensor residual = leaf_on(device, wave({5, 3, width}, 3, dtype));
        const at::Tensor weight = leaf_on(device, wave({width}, 1, dtype));
        const at::Tensor dy = wave({5, 3, width}, 2, dtype).to(device);
        const auto [normed, sum] = kernels::add_rms_norm(x, residual, weight, 1e-6);
        normed.backward(dy, /*retain_graph=*/true);
        sum.backward(dy);
        return std::vector<at::Tensor>{normed.detach(), sum.detach(), x.grad(), residual.grad(),
                                       weight.grad()};
      };

      const auto cpu = run(at::kCPU), cuda = run(at::kCUDA);

      for (std::size_t i = 0; i < cpu.size(); ++i) expect_close(cuda[i], cpu[i], dtype);
    }
  }
}

TEST_F(Cuda, SmallSiluMulsEqualTheCpus) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const auto run = [&](at::Device device) {
      // Strided halves, as linear_multi gives them.
      const at::Tensor both = leaf_on(device, wave({70, 2 * 33}, 0, dtype));
      const at::Tensor out = kernels::silu_mul(both.narrow(1, 0, 33), both.narrow(1, 33, 33));
      out.backward(wave({70, 33}, 2, dtype).to(device));
      return std::vector<at::Tensor>{out.detach(), both.grad()};
    };

    const auto cpu = run(at::kCPU), cuda = run(at::kCUDA);

    for (std::size_t i = 0; i < cpu.size(); ++i) expect_close(cuda[i], cpu[i], dtype);
  }
}

// A vocabulary that the CPU goes through by columns and a GPU by tokens; some tokens do not count.
TEST_F(Cuda, SmallLinearCrossEntropiesEqualTheCpus) {
  at::Tensor labels = at::arange(50).mul(1301);
  labels.narrow(0, 10, 5).fill_(-100);
  const auto run = [&](at::Device device) {
    const at::Tensor hidden = leaf_on(device, wave({50, 32}, 0, at::kFloat));
    const at::Tensor weight = leaf_on(device, wave({70'000, 32}, 1, at::kFloat));
    const at::Tensor loss = kernels::linear_cross_entropy(hidden, {weight}, labels.to(device));
    loss.sum().backward();
    return std::vector<at::Tensor>{loss.detach(), hidden.grad(), weight.grad()};
  };

  const auto cpu = run(at::kCPU), cuda = run(at::kCUDA);

  for (std::size_t i = 0; i < cpu.size(); ++i)
    EXPECT_TRUE(at::allclose(cuda[i].cpu(), cpu[i], 1e-5, 1e-5)) << i;
}

// On as many GPUs as there are; with one it is a group of one.
TEST_F(Cuda, NcclSumsBetweenGpus) {
  const int ranks = std::min(plugin_.num_devices(), 4);
  SharedMemoryHub hub;
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const std::chrono::seconds timeout(60);
      nccl::World world({&plugin_.nccl(), rank, rank, timeout},
                        [&](const Group& group) { return hub.open(group, timeout); });
      const auto group = world.open({"all", all, rank, true});
      at::Tensor there =
          at::full({1000}, rank + 1.0, at::Device(at::kCUDA, static_cast<at::DeviceIndex>(rank)));
      at::Tensor here = at::full({3}, rank + 1.0, at::kDouble);

      group->all_reduce(there, ReduceOp::sum).wait();
      group->wait();
      group->all_reduce(here, ReduceOp::max).wait();

      EXPECT_EQ(there[999].item<float>(), ranks * (ranks + 1) / 2.0F);
      EXPECT_EQ(here[0].item<double>(), ranks);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace d9d
