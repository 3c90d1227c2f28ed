// Products of the rows of experts against the CPU's.
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <limits>

#include "kernels/ops/backend.hpp"
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

// MOD-54.
TEST_F(CudaOps, SmallGroupedProductsTakeTheBackendThatWasChosen) {
  using kernels::GroupedBackend;
  const at::Tensor offsets = at::tensor({0, 5, 5, 6, 20}, at::kLong),
                   into = at::full({20, 24}, 0.0, at::kBFloat16),
                   weight = values({4, 24, 16}, 0, at::kBFloat16), in = values({20, 16}, 1, at::kBFloat16);

  kernels::choose_backends({.grouped_product = GroupedBackend::expert_by_expert});
  expect_same_as_cpu(&OpTable::grouped_product, 1, into, in, weight, offsets, true);

  kernels::choose_backends({.grouped_product = GroupedBackend::own});
  const auto product = table_under_test().grouped_product.function();
  EXPECT_THROW(product(there(into), there(in), there(weight), there(offsets), true), c10::Error);
  kernels::choose_backends({});
}

}  // namespace
}  // namespace d9d::test
