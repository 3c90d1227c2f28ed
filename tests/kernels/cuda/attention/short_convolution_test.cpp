// The convolution before the delta rule against the CPU's.
#include <ATen/ops/zeros.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

struct Convolution {
  int64_t sequences, length, heads, width, taps;
};
// Packs and not, sequences shorter than the taps, several slabs of tokens.
constexpr Convolution convolutions[] = {
    {2, 9, 3, 16, 4}, {1, 2, 2, 5, 4}, {3, 7, 1, 24, 2}, {1, 150, 2, 40, 3}};
constexpr int64_t first_row = 3, other_channels = 7;

at::Tensor weight_of(const Convolution& c, at::ScalarType dtype) {
  return values({c.heads * c.width + other_channels, 1, c.taps}, 1, dtype);
}
// A view into rows of more channels.
at::Tensor x_of(const Convolution& c, at::ScalarType dtype) {
  return values({c.sequences, c.length, c.heads + 2, c.width}, 0, dtype).narrow(2, 1, c.heads);
}

TEST_F(CudaOps, SmallConvolutionsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16})
    for (const Convolution& c : convolutions)
      expect_same_as_cpu(&OpTable::short_convolution, 1, x_of(c, dtype), weight_of(c, dtype), first_row);
}

TEST_F(CudaOps, SmallConvolutionsGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const Convolution& c : convolutions) {
      const at::Tensor dy = values({c.sequences, c.length, c.heads, c.width}, 2, dtype);
      expect_same_as_cpu(&OpTable::short_convolution_dx, 1, dy, x_of(c, dtype), weight_of(c, dtype),
                         first_row);
    }
  }
}

// The rows of other calls are zeroed with beta 0, and kept with beta 1.
TEST_F(CudaOps, SmallConvolutionsWeightGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const Convolution& c : convolutions) {
      const at::Tensor dsum = values({c.sequences, c.length, c.heads, c.width}, 3, at::kFloat);
      const at::Tensor into = weight_of(c, at::kFloat);
      for (const double beta : {0.0, 1.0})
        expect_same_as_cpu(&OpTable::short_convolution_dw, 8, dsum, x_of(c, dtype), into, first_row, beta);
    }
  }
}

TEST_F(CudaOps, SmallConvolutionsOfNoTokensAreEmpty) {
  expect_same_as_cpu(&OpTable::short_convolution, 1, at::zeros({2, 0, 2, 8}, at::kFloat),
                     values({16, 1, 4}, 0, at::kFloat), int64_t{0});
}

}  // namespace
}  // namespace d9d::test
