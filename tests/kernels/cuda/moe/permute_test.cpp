// The order of experts' rows, and what goes to rows and comes back, against the CPU's.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randperm.h>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

// Several chunks of choices, experts without tokens, one expert for all.
TEST_F(CudaOps, SmallOrdersOfExpertsEqualTheCpus) {
  for (const auto& [tokens, experts] : {std::pair<int64_t, int64_t>{0, 4}, {5, 300}, {700, 8}, {300, 1}})
    expect_same_as_cpu(&OpTable::expert_order, 1, integers({tokens, 4}, experts, 0), experts);
}

// Choices of no expert have no row; the number of rows is that of choices all the same.
TEST_F(CudaOps, SmallOrdersLeaveOutChoicesOfNoExpert) {
  const at::Tensor choices = integers({400, 3}, 10, 0).sub(1);
  const auto order_on = [&](const OpTable& table, const at::Tensor& experts) {
    return table.expert_order.function()(experts, 8);
  };

  const auto order = order_on(table_under_test(), there(choices));
  const auto expected = order_on(kernels::op_detail::table_of("test", {}), choices);

  EXPECT_TRUE(same_bits(order.map, expected.map));
  EXPECT_TRUE(same_bits(order.offsets, expected.offsets));
  EXPECT_EQ(order.num_rows, 1200);
}

TEST_F(CudaOps, SmallRowsOfExpertsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t width : {1, 31, 64}) {
      const int64_t tokens = 21, top_k = 3;
      const at::Tensor map = integers({tokens * top_k}, 1 << 20, 0).argsort().view({tokens, top_k});
      const at::Tensor lacking = map.masked_fill(integers({tokens, top_k}, 4, 1).eq(0), -1);
      const at::Tensor scale = values({tokens, top_k}, 2, at::kFloat), x = values({tokens, width}, 3, dtype);
      const at::Tensor rows = values({tokens * top_k, width}, 4, dtype);
      expect_same_as_cpu(&OpTable::spread_rows, 1, x, map, at::Tensor(), tokens * top_k);
      expect_same_as_cpu(&OpTable::spread_rows, 1, x, map, scale, tokens * top_k);
      expect_same_as_cpu(&OpTable::combine_rows, 1, rows, lacking, at::Tensor());
      expect_same_as_cpu(&OpTable::combine_rows, 1, rows, lacking, scale);
      expect_same_as_cpu(&OpTable::row_dots, 1, x, rows, lacking);
    }
  }
}

}  // namespace
}  // namespace d9d::test
