// AdamW and sums of squares against the CPU's.

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

// As segments of a flat buffer begin behind one of odd length; the last time the gradient begins elsewhere.
TEST_F(CudaOps, SmallAdamWStepsOfBuffersThatBeginAnywhereEqualTheCpus) {
  for (const int64_t count : {1, 2, 3, 7, 1030}) {
    for (const int64_t first : {1, 2, 3}) {
      for (const int64_t of_grad : {first, first - 1}) {
        const auto from = [&](int64_t begin, std::uint64_t seed) {
          return values({count + 4}, seed, at::kFloat).narrow(0, begin, count);
        };
        expect_same_as_cpu(&OpTable::adamw_step, 1, from(first, 0), from(of_grad, 1), from(first, 2),
                           from(first, 3).abs_(), {1e-3, 0.9, 0.95, 1e-8, 0.1, /*step=*/3, 0.5, true});
      }
    }
  }
}

TEST_F(CudaOps, SmallSumsOfSquaresEqualTheCpusAndRepeatToTheLastBit) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t count : {0, 1, 16384, 100'003}) {
      // From the second element on: not at a multiple of 16 bytes.
      const at::Tensor x = values({count + 1}, 0, dtype).narrow(0, count % 2, count);

      expect_same_as_cpu(&OpTable::sum_of_squares, 0.1, x);
      const auto sum = (table_under_test().*(&OpTable::sum_of_squares)).function()(there(x)).item<double>();

      EXPECT_NEAR(sum, x.to(at::kDouble).square().sum().item<double>(), 1e-6 * static_cast<double>(count));
    }
  }
}

}  // namespace
}  // namespace d9d::test
