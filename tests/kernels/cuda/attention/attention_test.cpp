// The merge of blocks of attention against the CPU's.
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include <limits>
#include <string>

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
    // Biases hide keys of any block: also of the one that others are merged into, and of both.
    expect_same_as_cpu(&OpTable::merge_attention_block, 1, nothing, block(0));
    const auto empty = copied(nothing, there), same = copied(nothing, there);
    table_under_test().merge_attention_block.function()(empty, same);
    expect_close(empty.out, nothing.out, Roundings(0), "nothing and nothing");
    EXPECT_TRUE(at::equal(empty.lse.cpu(), nothing.lse)) << "nothing and nothing";
  }
}

// MOD-31.
TEST_F(CudaOps, SmallAttentionTakesTheBackendThatWasChosen) {
  using kernels::AttentionBackend;
  const auto attend = [](AttentionBackend backend, at::ScalarType dtype = at::kFloat,
                         const kernels::ScoreBias& bias = {}) {
    const auto heads = [&](std::uint64_t seed) { return there(values({1, 9, 2, 8}, seed, dtype)); };
    kernels::choose_backends({.attention = backend});
    return table_under_test().attention_block.function()(heads(1), heads(2), heads(3), kernels::causal_mask,
                                                         0.3, dtype, {}, bias);
  };
  const AttentionBlock expected = attend(AttentionBackend::auto_);

  const AttentionBlock composed = attend(AttentionBackend::composed);

  expect_close(composed.out, expected.out, Roundings(1), "composed");
  EXPECT_THROW(attend(AttentionBackend::library), c10::Error) << "it has no kernels of float32";
  EXPECT_THROW(attend(AttentionBackend::own), c10::Error);
  // Both libraries take heads such as these in bfloat16, but no bias.
  const kernels::ScoreBias bias{there(values({1, 2, 9, 9}, 5, at::kFloat))};
  std::string refusal;
  try {
    attend(AttentionBackend::library, at::kBFloat16, bias);
  } catch (const c10::Error& error) {
    refusal = error.what_without_backtrace();
  }
  EXPECT_THAT(refusal, testing::AllOf(testing::HasSubstr("with a bias of the scores"),
                                      testing::HasSubstr("choose composed or auto (node.attention")));
  expect_close(attend(AttentionBackend::auto_, at::kBFloat16, bias).out,
               attend(AttentionBackend::composed, at::kBFloat16, bias).out, Roundings(0), "with a bias");
  kernels::choose_backends({});
}

}  // namespace
}  // namespace d9d::test
