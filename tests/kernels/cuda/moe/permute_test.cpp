// The order of experts' rows, and what goes to rows and comes back, against the CPU's.
#include <ATen/TensorOperators.h>

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

TEST_F(CudaOps, SmallOwnersOfChoicesEqualTheCpus) {
  for (const auto& [tokens, top_k, per_owner] :
       {std::tuple<int64_t, int64_t, int64_t>{0, 4, 2}, {1, 1, 1}, {700, 8, 16}, {33, 5, 300}, {9, 40, 7}})
    expect_same_as_cpu(&OpTable::choice_owners, 1, integers({tokens, top_k}, 256, 0), per_owner);
}

// Choices of no expert have no row. The host counts the others where it knows them; else each has one.
TEST_F(CudaOps, SmallOrdersLeaveOutChoicesOfNoExpert) {
  const at::Tensor choices = integers({400, 3}, 10, 0).sub(1), probs = values({400, 3}, 1, at::kFloat);
  const auto on_cpu = kernels::op_detail::table_of("test", {});
  const auto expected = on_cpu.expert_order.function()(choices, 8);
  const int64_t num_chosen = expected.offsets[8].item<int64_t>();
  ASSERT_LT(num_chosen, 1200);

  for (const bool knows : {true, false}) {
    choose_run(knows ? 0 : 1);
    const at::Tensor experts = there(choices);
    const auto order = table_under_test().expert_order.function()(experts, 8);
    const auto rows = table_under_test().expert_rows.function()(experts, there(probs), 8);

    EXPECT_TRUE(same_bits(order.map, expected.map) && same_bits(rows.map, expected.map));
    EXPECT_TRUE(same_bits(order.offsets, expected.offsets) && same_bits(rows.offsets, expected.offsets));
    const int64_t num_rows = knows ? num_chosen : 1200;
    EXPECT_EQ(rows.token.size(0), num_rows);
    EXPECT_EQ(rows.scale.size(0), num_rows);
    EXPECT_EQ(kernels::result_shapes().expert_rows.function()(experts, there(probs), 8).token.size(0),
              num_rows);
  }
  choose_run(0);
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
