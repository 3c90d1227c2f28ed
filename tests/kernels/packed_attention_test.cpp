// Documents in one row do not see each other: attention with first keys is that of each document alone, in
// every dtype, forward and backward, and in blocks of keys as ranks that share a sequence have them.
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_block.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::kernels {
namespace {

using test::Tensors;
using test::values;
using Packing = std::vector<std::vector<std::int64_t>>;  // lengths of the documents of each row

at::Tensor starts_of(const Packing& packing) {
  std::vector<at::Tensor> rows;
  for (const auto& lengths : packing) {
    std::vector<at::Tensor> row;
    std::int64_t first = 0;
    for (const std::int64_t length : lengths) {
      row.push_back(at::full({length}, first, at::kLong));
      first += length;
    }
    rows.push_back(at::cat(row));
  }
  return at::stack(rows);
}

// Of each document alone.
at::Tensor one_by_one(const Tensors& in, const Packing& packing, const AttentionMask& mask, double scale) {
  std::vector<at::Tensor> rows;
  for (std::size_t b = 0; b < packing.size(); ++b) {
    std::vector<at::Tensor> row;
    std::int64_t first = 0;
    for (const std::int64_t length : packing[b]) {
      const auto part = [&](const at::Tensor& x) {
        return x.narrow(0, static_cast<std::int64_t>(b), 1).narrow(1, first, length);
      };
      row.push_back(attention(part(in[0]), part(in[1]), part(in[2]), mask, scale));
      first += length;
    }
    rows.push_back(at::cat(row, 1));
  }
  return at::cat(rows, 0);
}

void expect_packed(const Packing& packing, std::int64_t heads, std::int64_t key_heads, std::int64_t dim,
                   const AttentionMask& mask) {
  const at::Tensor starts = starts_of(packing);
  const std::int64_t batch = starts.size(0), length = starts.size(1);
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  SCOPED_TRACE(::testing::Message() << "S " << length << ", heads " << heads << "/" << key_heads << ", D "
                                    << dim << ", before " << mask.before);
  test::expect_matches_in_every_dtype(
      [=](const Tensors& in) -> Tensors { return {attention(in[0], in[1], in[2], mask, scale, {starts})}; },
      [=](const Tensors& in) -> Tensors { return {one_by_one(in, packing, mask, scale)}; },
      {values({batch, length, heads, dim}, 1) * 3, values({batch, length, key_heads, dim}, 2) * 3,
       values({batch, length, key_heads, dim}, 3)});
}

TEST(PackedAttention, IsThatOfEachDocumentAlone) {
  for (const AttentionMask& mask : {causal_mask, AttentionMask{4, 0, 0}, AttentionMask{60, 0, 0}}) {
    expect_packed({{3, 4}, {1, 6}}, 2, 1, 8, mask);
    expect_packed({{13, 14, 15, 1, 1, 26}, {70}}, 4, 2, 5, mask);
    expect_packed({{64, 65}, {31, 33, 32, 33}}, 3, 1, 64, mask);
    expect_packed({{200, 100, 7, 243}, {5, 512, 33}}, 8, 2, 16, mask);
    expect_packed({{300, 1, 298}}, 2, 2, 128, mask);
  }
}

TEST(PackedAttention, ARowOfOneDocumentHasTheSameBitsAsWithoutStarts) {
  const auto q = values({2, 90, 4, 16}, 1).to(at::kFloat), k = values({2, 90, 2, 16}, 2).to(at::kFloat);

  const at::Tensor packed = attention(q, k, k, causal_mask, 0.25, {at::zeros({2, 90}, at::kLong)});

  EXPECT_TRUE(packed.equal(attention(q, k, k, causal_mask, 0.25)));
}

// A rank has the last 100 tokens of each row, and gets the 100 before: of the first row the last 10 of these
// are of a document that goes on, of the second none is.
TEST(PackedAttention, BlocksOfKeysOfWhichQueriesSeeNoneMergeToTheWhole) {
  const at::Tensor starts = starts_of({{90, 35, 75}, {40, 60, 100}});
  const auto late = [](const at::Tensor& x) { return x.narrow(1, 100, 100); };
  const auto early = [](const at::Tensor& x) { return x.narrow(1, 0, 100); };
  const VisibleKeys of_early{late(starts).clamp(0, 100).contiguous()},
      of_late{(late(starts) - 100).clamp(0, 100).contiguous()};
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const auto wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
    const double tolerance = dtype == at::kDouble ? 1e-12 : dtype == at::kFloat ? 1e-5 : 1e-2;
    const auto q = values({2, 200, 4, 16}, 1).to(dtype), k = values({2, 200, 2, 16}, 2).to(dtype),
               v = values({2, 200, 2, 16}, 3).to(dtype), grad = values({2, 200, 4, 16}, 4).to(wide);
    const auto whole = attention_block(q, k, v, causal_mask, 0.25, wide, {starts});
    const auto expected = attention_block_backward(grad, q, k, v, whole, causal_mask, 0.25, wide, {starts});

    const auto merged = attention_block(late(q), late(k), late(v), causal_mask, 0.25, wide, of_late);
    const auto before = attention_block(late(q), early(k), early(v), full_mask, 0.25, wide, of_early);
    merge_attention_block(merged, before);
    const auto own = attention_block_backward(late(grad), late(q), late(k), late(v), merged, causal_mask,
                                              0.25, wide, of_late);
    const auto theirs = attention_block_backward(late(grad), late(q), early(k), early(v), merged, full_mask,
                                                 0.25, wide, of_early);

    EXPECT_EQ(before.out[1].abs().max().item<double>(), 0);
    EXPECT_EQ(before.lse[1].max().item<double>(), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(theirs.dk[1].abs().max().item<double>(), 0);
    const auto distance = [](const at::Tensor& got, const at::Tensor& wanted) {
      return ((got - wanted).norm() / wanted.norm()).item<double>();
    };
    EXPECT_LT(distance(merged.out, late(whole.out)), tolerance);
    EXPECT_LT(distance(own.dq + theirs.dq, late(expected.dq)), tolerance);
    EXPECT_LT(distance(own.dk, late(expected.dk)), tolerance);
    EXPECT_LT(distance(own.dv, late(expected.dv)), tolerance);
    EXPECT_GT(theirs.dk[0].narrow(0, 90, 10).norm().item<double>(), 0);
  }
}

TEST(PackedAttention, RefusesFirstKeysThatAreNotOfItsQueries) {
  const auto q = values({1, 6, 1, 4}, 1);

  EXPECT_ANY_THROW(attention(q, q, q, causal_mask, 1, {at::zeros({1, 5}, at::kLong)}));
  EXPECT_ANY_THROW(attention(q, q, q, causal_mask, 1, {at::zeros({1, 6}, at::kInt)}));
}

}  // namespace
}  // namespace d9d::kernels
