// The merge of blocks of attention against the CPU's.
#include <limits>

#include "kernels/ops/backend.hpp"
#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::AttentionBlock;
using kernels::OpTable;

// Blocks that are parts of longer rows; heads that take accesses of
// 16 bytes and such that do not. One block has seen no key.
TEST_F(CudaOps, SmallBlocksOfAttentionAreMergedAsByTheCpu) {
  for (const int64_t dim : {5, 64}) {
    const auto block = [&](std::uint64_t seed) {
      return AttentionBlock{values({2, 9, 3, dim}, seed, at::kFloat).narrow(1, 1, 7),
                            values({2, 3, 9}, seed + 1, at::kFloat).mul(10).narrow(2, 1, 7)};
    };
    expect_same_as_cpu(&OpTable::merge_attention_block, 1, block(0), block(2));
    AttentionBlock nothing = block(2);
    nothing.lse.fill_(-std::numeric_limits<double>::infinity());
    nothing.out.zero_();
    const auto merged = copied(block(0), there), other = copied(nothing, there);
    table_under_test().merge_attention_block.function()(merged, other);
    expect_close(merged.out, block(0).out, Roundings(0), "a block that has seen nothing changes nothing");
    expect_close(merged.lse, block(0).lse, Roundings(0), "a block that has seen nothing changes nothing");
  }
}

// MOD-31.
TEST_F(CudaOps, SmallAttentionTakesTheBackendThatWasChosen) {
  using kernels::AttentionBackend;
  const auto attend = [](AttentionBackend backend) {
    const auto heads = [](std::uint64_t seed) { return there(values({1, 9, 2, 8}, seed, at::kFloat)); };
    kernels::choose_backends({.attention = backend});
    return table_under_test().attention_block.function()(heads(1), heads(2), heads(3), kernels::causal_mask,
                                                         0.3, at::kFloat, {});
  };
  const AttentionBlock expected = attend(AttentionBackend::auto_);

  const AttentionBlock composed = attend(AttentionBackend::composed);

  expect_close(composed.out, expected.out, Roundings(1), "composed");
  EXPECT_THROW(attend(AttentionBackend::library), c10::Error) << "it has no kernels of float32";
  EXPECT_THROW(attend(AttentionBackend::own), c10::Error);
  kernels::choose_backends({});
}

}  // namespace
}  // namespace d9d::test
