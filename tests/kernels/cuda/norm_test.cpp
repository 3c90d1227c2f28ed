// RMSNorm against the CPU's.
#include <ATen/ops/full.h>

#include <limits>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

// Widths of one element, of odd rows, of a head, of rows that a warp or a block keeps, and of longer ones.
constexpr int64_t row_widths[] = {1, 31, 128, 1000, 2048, 9000};

// Rows that are a part of longer ones: 8 elements apart from them, or 1, so that accesses of 16 bytes are not possible.
at::Tensor strided_rows(int64_t rows, int64_t width, int64_t gap, std::uint64_t seed, at::ScalarType dtype) {
  return values({rows, width + gap}, seed, dtype).narrow(1, 0, width);
}

TEST_F(CudaOps, SmallNormsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t width : row_widths) {
      const at::Tensor x = strided_rows(7, width, 8, 0, dtype), weight = values({width}, 1, dtype);
      expect_same_as_cpu(&OpTable::rms_norm, 1, x, at::Tensor(), weight, 1e-6, 0);
      expect_same_as_cpu(&OpTable::rms_norm, 1, x, strided_rows(7, width, 1, 2, dtype), weight, 1e-6, 1);
    }
  }
}

TEST_F(CudaOps, SmallNormsGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t width : row_widths) {
      const at::Tensor x = strided_rows(7, width, 8, 0, dtype), dy = strided_rows(7, width, 16, 3, dtype);
      const at::Tensor weight = values({width}, 1, dtype), inverse = values({7}, 4, at::kFloat).abs();
      expect_same_as_cpu(&OpTable::rms_norm_dx, 1, dy, x, weight, 0, inverse, at::Tensor());
      expect_same_as_cpu(&OpTable::rms_norm_dx, 1, dy, x, weight, 1, inverse,
                         strided_rows(7, width, 1, 5, dtype));
    }
  }
}

// Into what was not initialised, and added; rows of one slab and of several.
TEST_F(CudaOps, SmallNormsWeightGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const auto& [rows, width] :
         {std::pair<int64_t, int64_t>{7, 1}, {0, 40}, {700, 31}, {5000, 8}, {40, 264}}) {
      const at::Tensor x = strided_rows(rows, width, 8, 0, dtype),
                       dy = strided_rows(rows, width, 8, 3, dtype);
      const at::Tensor inverse = values({rows}, 4, at::kFloat).abs();
      const at::Tensor poison = at::full({width}, std::numeric_limits<double>::quiet_NaN(), at::kFloat);
      expect_same_as_cpu(&OpTable::rms_norm_dw, 10, dy, x, inverse, poison, 0);
      expect_same_as_cpu(&OpTable::rms_norm_dw, 10, dy, x, inverse, values({width}, 6, at::kFloat), 1);
      expect_same_as_cpu(&OpTable::rms_norm_dw, 1, dy, x, inverse, values({width}, 6, at::kBFloat16), 1);
    }
  }
}

TEST_F(CudaOps, SmallNormsOfNoRowsAreEmpty) {
  const at::Tensor none = values({0, 24}, 0, at::kFloat), weight = values({24}, 1, at::kFloat);

  expect_same_as_cpu(&OpTable::rms_norm, 1, none, none, weight, 1e-6, 0);
  expect_same_as_cpu(&OpTable::rms_norm_dx, 1, none, none, weight, 0, values({0}, 1, at::kFloat),
                     at::Tensor());
}

}  // namespace
}  // namespace d9d::test
