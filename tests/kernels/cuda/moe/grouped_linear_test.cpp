// Products of the rows of experts against the CPU's.
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <limits>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

// An expert without rows, one with one row, widths that a library takes and such that it does not.
TEST_F(CudaOps, SmallGroupedProductsEqualTheCpus) {
  const at::Tensor offsets = at::tensor({0, 5, 5, 6, 20}, at::kLong);
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{24, 16}, {7, 5}}) {
      const at::Tensor weight = values({4, n, k}, 0, dtype), in = values({20, k}, 1, dtype),
                       grad = values({20, n}, 2, dtype);
      const auto poison = [](at::IntArrayRef sizes, at::ScalarType type) {
        return at::full(sizes, std::numeric_limits<double>::quiet_NaN(), type);
      };
      expect_same_as_cpu(&OpTable::grouped_product, 1, poison({20, n}, dtype), in, weight, offsets, true);
      expect_same_as_cpu(&OpTable::grouped_product, 1, poison({20, k}, dtype), grad, weight, offsets, false);
      const double far = rounding_of_row_sums(dtype);
      expect_same_as_cpu(&OpTable::grouped_dw, far, poison({4, n, k}, at::kFloat), grad, in, offsets, 0);
      expect_same_as_cpu(&OpTable::grouped_dw, far, values({4, n, k}, 3, at::kFloat), grad, in, offsets, 1);
    }
  }
}

}  // namespace
}  // namespace d9d::test
