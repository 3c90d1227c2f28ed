// RMSNorm and LayerNorm against the CPU's.
#include <ATen/ops/stack.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

// Widths of one element, of odd rows, of a head, of rows that a warp or a block keeps in 1, 2 or 4 packs a thread, and
// of longer ones.
constexpr int64_t row_widths[] = {1, 31, 128, 512, 1000, 2048, 4096, 8200};

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
      expect_same_as_cpu(&OpTable::layer_norm, 1, x, at::Tensor(), weight, 1e-5);
      expect_same_as_cpu(&OpTable::layer_norm, 1, x, strided_rows(7, width, 1, 2, dtype), weight, 1e-5);
    }
  }
}

TEST_F(CudaOps, SmallNormsGradientsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t width : row_widths) {
      const at::Tensor x = strided_rows(3, width, 8, 0, dtype), dy = strided_rows(3, width, 16, 3, dtype);
      const at::Tensor weight = values({width}, 1, dtype), inverse = values({3}, 4, at::kFloat).abs();
      expect_same_as_cpu(&OpTable::rms_norm_backward, 1, dy, x, weight, 0, inverse, at::Tensor(), false);
      expect_same_as_cpu(&OpTable::rms_norm_backward, 1, dy, x, weight, 1, inverse,
                         strided_rows(3, width, width % 2 == 0 ? 8 : 1, 5, dtype), true);
      const at::Tensor statistics = at::stack({inverse, values({3}, 6, at::kFloat)});
      expect_same_as_cpu(&OpTable::layer_norm_backward, 1, dy, x, weight, statistics, at::Tensor(), false);
      expect_same_as_cpu(&OpTable::layer_norm_backward, 1, dy, x, weight, statistics,
                         strided_rows(3, width, width % 2 == 0 ? 8 : 1, 5, dtype), true);
    }
  }
}

// More rows than warps, and than blocks, which then sum several; also of rows that are longer than a block keeps.
TEST_F(CudaOps, SmallNormsOfManyRowsHaveTheCpusWeightGradients) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{4100, 8}, {520, 31}, {515, 8200}}) {
      const at::Tensor x = strided_rows(rows, width, 8, 0, dtype),
                       dy = strided_rows(rows, width, 8, 3, dtype);
      expect_same_as_cpu(&OpTable::rms_norm_backward, 10, dy, x, values({width}, 1, dtype), 0,
                         values({rows}, 4, at::kFloat).abs(), at::Tensor(), true);
      expect_same_as_cpu(&OpTable::layer_norm_backward, 10, dy, x, values({width}, 1, dtype),
                         values({2, rows}, 4, at::kFloat).abs(), at::Tensor(), true);
    }
  }
}

TEST_F(CudaOps, SmallNormsOfNoRowsAreEmpty) {
  const at::Tensor none = values({0, 24}, 0, at::kFloat), weight = values({24}, 1, at::kFloat);

  expect_same_as_cpu(&OpTable::rms_norm, 1, none, none, weight, 1e-6, 0);
  expect_same_as_cpu(&OpTable::rms_norm_backward, 1, none, none, weight, 0, values({0}, 1, at::kFloat),
                     at::Tensor(), true);
  expect_same_as_cpu(&OpTable::layer_norm, 1, none, none, weight, 1e-5);
  expect_same_as_cpu(&OpTable::layer_norm_backward, 1, none, none, weight, values({2, 0}, 1, at::kFloat),
                     at::Tensor(), true);
}

}  // namespace
}  // namespace d9d::test
