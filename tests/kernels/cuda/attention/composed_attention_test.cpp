// Attention against the CPU's: on a GPU FlashAttention 2 where it takes the call, else what is composed.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <limits>
#include <vector>

#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::AttentionBlock;
using kernels::AttentionMask;
using kernels::OpTable;
using kernels::ScoreBias;
using kernels::VisibleKeys;

struct Block {
  int64_t batch, queries, keys, heads, key_heads, dim, value_dim;
  AttentionMask mask;
};

constexpr int64_t all = AttentionMask::unlimited;
// Full, causal, a window, a band, a block of other ranks' keys, values of another width, several parts of queries.
constexpr Block blocks[] = {
    {2, 7, 9, 4, 2, 16, 16, {all, all, 0}},   {1, 33, 33, 2, 2, 24, 24, {all, 0, 0}},
    {1, 40, 40, 4, 1, 8, 8, {5, 0, 0}},       {1, 20, 30, 2, 1, 16, 16, {4, 3, 10}},
    {1, 12, 20, 2, 2, 16, 16, {all, 0, 20}},  {1, 9, 9, 2, 2, 24, 16, {all, 0, 0}},
    {1, 300, 300, 2, 1, 16, 16, {290, 0, 0}},
};

struct Inputs {
  at::Tensor q, k, v, grad;
};

Inputs inputs_of(const Block& b, at::ScalarType dtype) {
  return {values({b.batch, b.queries, b.heads, b.dim}, 0, dtype).mul(2),
          values({b.batch, b.keys, b.key_heads, b.dim}, 1, dtype).mul(2),
          values({b.batch, b.keys, b.key_heads, b.value_dim}, 2, dtype),
          values({b.batch, b.queries, b.heads, b.value_dim}, 3, dtype)};
}

AttentionBlock forward_of(const Inputs& in, const Block& b, const VisibleKeys& visible = {},
                          const ScoreBias& bias = {}) {
  static const at::Tensor here = values({1}, 0, at::kFloat);
  const auto& cpu = kernels::op_detail::table_of("test", &here);
  return cpu.attention_block.function()(in.q, in.k, in.v, b.mask, 0.3, in.q.scalar_type(), visible, bias);
}

// bf16: the CPU rounds probabilities to it, too. They sum to 1 and values are up to 1, so that an output, however
// small, is off by up to a rounding of 1, which is 1/256.
Roundings roundings(at::ScalarType dtype) {
  return dtype == at::kFloat ? Roundings(10) : Roundings(4, 1.0 / 256);
}

TEST_F(CudaOps, SmallAttentionsEqualTheCpus) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const Block& b : blocks) {
      const Inputs in = inputs_of(b, dtype);
      expect_same_as_cpu(&OpTable::attention_block, roundings(dtype), in.q, in.k, in.v, b.mask, 0.3, dtype,
                         VisibleKeys(), ScoreBias());
    }
  }
}

TEST_F(CudaOps, SmallAttentionsGradientsEqualTheCpus) {
  for (const Block& b : blocks) {
    const Inputs in = inputs_of(b, at::kFloat);
    expect_same_as_cpu(&OpTable::attention_block_backward, 10, in.grad, in.q, in.k, in.v, forward_of(in, b),
                       b.mask, 0.3, at::kFloat, VisibleKeys(), ScoreBias());
  }
}

// Documents of 5 tokens in each row of the batch, in one direction and in both.
TEST_F(CudaOps, SmallAttentionsOfPackedDocumentsEqualTheCpus) {
  const at::Tensor first = at::arange(33).div(5, "floor").mul(5).expand({2, 33}).contiguous();
  for (const auto& [mask, end] : {std::pair{AttentionMask{all, 0, 0}, at::Tensor()},
                                  {AttentionMask{all, all, 0}, (first + 5).contiguous()},
                                  {AttentionMask{3, 2, 0}, (first + 5).contiguous()},
                                  {AttentionMask{all, all, 0}, first}}) {  // which hides all keys
    const Block b{2, 33, 33, 4, 2, 16, 16, mask};
    const Inputs in = inputs_of(b, at::kFloat);
    const VisibleKeys visible{first, end};

    expect_same_as_cpu(&OpTable::attention_block, 10, in.q, in.k, in.v, b.mask, 0.3, at::kFloat, visible,
                       ScoreBias());
    expect_same_as_cpu(&OpTable::attention_block_backward, 10, in.grad, in.q, in.k, in.v,
                       forward_of(in, b, visible), b.mask, 0.3, at::kFloat, visible, ScoreBias());
  }
}

// Dense and by distance, of every shape that is shared, with hidden keys, and a query that sees none.
std::vector<ScoreBias> biases_of(const Block& b) {
  std::vector<ScoreBias> all;
  for (const int64_t batch : {int64_t{1}, b.batch}) {
    for (const int64_t heads : {int64_t{1}, b.heads}) {
      all.push_back({values({batch, heads, 1, b.queries + b.keys - 1}, 5, at::kFloat), true, true});
      for (const int64_t queries : {int64_t{1}, b.queries}) {
        const at::Tensor dense = values({batch, heads, queries, b.keys}, 6, at::kFloat);
        if (queries > 1) {
          dense.masked_fill_(values(dense.sizes(), 7) > 0.6, -std::numeric_limits<double>::infinity());
          dense.select(2, 2).fill_(-std::numeric_limits<double>::infinity());
        }
        all.push_back({dense, false, true});
      }
    }
  }
  return all;
}

// Mod30, Mod32.
TEST_F(CudaOps, SmallAttentionsWithBiasesEqualTheCpus) {
  for (const Block& b : blocks) {
    const Inputs in = inputs_of(b, at::kFloat);
    for (const ScoreBias& bias : biases_of(b)) {
      expect_same_as_cpu(&OpTable::attention_block, 10, in.q, in.k, in.v, b.mask, 0.3, at::kFloat,
                         VisibleKeys(), bias);
      expect_same_as_cpu(&OpTable::attention_block_backward, 10, in.grad, in.q, in.k, in.v,
                         forward_of(in, b, {}, bias), b.mask, 0.3, at::kFloat, VisibleKeys(), bias);
    }
  }
}

TEST_F(CudaOps, SmallAttentionsWithBiasesInBfloat16EqualTheCpus) {
  for (const Block& b : blocks) {
    const Inputs in = inputs_of(b, at::kBFloat16);
    for (const ScoreBias& bias : biases_of(b)) {
      expect_same_as_cpu(&OpTable::attention_block, roundings(at::kBFloat16), in.q, in.k, in.v, b.mask, 0.3,
                         at::kBFloat16, VisibleKeys(), bias);
    }
  }
}

TEST_F(CudaOps, SmallAttentionsOfPackedDocumentsWithBiasesEqualTheCpus) {
  const at::Tensor first = at::arange(33).div(5, "floor").mul(5).expand({2, 33}).contiguous();
  const Block b{2, 33, 33, 4, 2, 16, 16, {all, 0, 0}};
  const Inputs in = inputs_of(b, at::kFloat);
  for (const ScoreBias& bias : biases_of(b)) {
    expect_same_as_cpu(&OpTable::attention_block, 10, in.q, in.k, in.v, b.mask, 0.3, at::kFloat,
                       VisibleKeys{first}, bias);
    expect_same_as_cpu(&OpTable::attention_block_backward, 10, in.grad, in.q, in.k, in.v,
                       forward_of(in, b, {first}, bias), b.mask, 0.3, at::kFloat, VisibleKeys{first}, bias);
  }
}

}  // namespace
}  // namespace d9d::test
