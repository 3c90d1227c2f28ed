// AdamW and sums of squares against the CPU's.
#include <ATen/ops/zeros.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

TEST_F(CudaOps, SmallAdamWStepsEqualTheCpus) {
  for (const int64_t count : {0, 1, 4, 1023, 4099}) {
    for (const bool zero_grad : {false, true}) {
      expect_same_as_cpu(&OpTable::adamw_step, 1, values({count}, 0, at::kFloat),
                         values({count}, 1, at::kFloat), values({count}, 2, at::kFloat).mul(0.01),
                         values({count}, 3, at::kFloat).abs().mul(0.01),
                         {1e-3, 0.9, 0.95, 1e-8, 0.1, /*step=*/3, 0.5, zero_grad});
    }
  }
}

TEST_F(CudaOps, SmallSumsOfSquaresEqualTheCpusAndRepeatToTheLastBit) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t count : {0, 1, 16384, 100'003}) {
      // From the second element on: not at a multiple of 16 bytes.
      const at::Tensor x = values({count + 1}, 0, dtype).narrow(0, count % 2, count), moved = there(x);
      double sums[runs_of_an_op];

      for (int run = 0; run < runs_of_an_op; ++run) {
        choose_run(run);
        sums[run] = (table_under_test().*(&OpTable::sum_of_squares)).function()(moved).item<double>();
      }

      EXPECT_NEAR(sums[0], x.to(at::kDouble).square().sum().item<double>(),
                  1e-6 * static_cast<double>(count));
      EXPECT_EQ(sums[1], sums[0]);
      EXPECT_EQ(sums[2], sums[0]);
    }
  }
}

}  // namespace
}  // namespace d9d::test
