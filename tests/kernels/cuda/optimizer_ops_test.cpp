#include "kernels/optimizer.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros.h>

#include "tests/kernels/cuda/gpu_fixture.hpp"

namespace d9d {
namespace {

using CudaOptimizer = test::OnGpu;

at::Tensor swing(std::int64_t count, double phase) {
  return at::sin(at::arange(count, at::kDouble).mul(0.37).add(phase)).to(at::kFloat);
}

TEST_F(CudaOptimizer, SmallAdamWStepsEqualTheCpus) {
  for (const std::int64_t count : {1, 4, 1023, 4099}) {
    const auto run = [&](at::Device device) {
      std::vector<at::Tensor> buffers{swing(count, 0), swing(count, 1), swing(count, 2).mul(0.01),
                                      swing(count, 3).abs().mul(0.01)};
      for (at::Tensor& buffer : buffers) buffer = buffer.to(device);
      for (std::int64_t step = 1; step <= 3; ++step) {
        kernels::adamw_step(buffers[0], buffers[1], buffers[2], buffers[3],
                            {1e-3, 0.9, 0.95, 1e-8, 0.1, step, 0.5, step == 3});
      }
      return buffers;
    };

    const auto cpu = run(at::kCPU), cuda = run(at::kCUDA);

    for (std::size_t i = 0; i < cpu.size(); ++i)
      EXPECT_TRUE(at::allclose(cuda[i].cpu(), cpu[i], 1e-5, 1e-7)) << count << " buffer " << i;
  }
}

TEST_F(CudaOptimizer, SmallSumsOfSquaresEqualTheCpusAndRepeatToTheLastBit) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t count : {0, 1, 16384, 100'003}) {
      const at::Tensor x = swing(count, 0).to(dtype), there = x.to(at::kCUDA);

      const double sum = kernels::sum_of_squares(there);

      EXPECT_NEAR(sum, kernels::sum_of_squares(x), 1e-5 * static_cast<double>(count));
      EXPECT_EQ(kernels::sum_of_squares(there), sum);
    }
  }
}

}  // namespace
}  // namespace d9d
