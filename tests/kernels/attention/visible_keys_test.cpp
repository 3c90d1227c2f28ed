// Mod10, Mod30, Mod32: each query sees a range of keys. Packed documents in both directions, padding on either side
// and prefixes against a softmax in fp64 under a mask of booleans, forward and backward, in every dtype.
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

struct Seen {
  std::int64_t first, end;
};
using Rows = std::vector<std::vector<Seen>>;  // what each query of each row sees
constexpr std::int64_t all = AttentionMask::unlimited;

std::vector<Seen> documents(const std::vector<std::int64_t>& lengths) {
  std::vector<Seen> row;
  for (const std::int64_t length : lengths) {
    const auto first = std::ssize(row);
    row.insert(row.end(), static_cast<std::size_t>(length), {first, first + length});
  }
  return row;
}
// Queries of padding see nothing.
std::vector<Seen> padded(std::int64_t left, std::int64_t length, std::int64_t right) {
  std::vector<Seen> row(static_cast<std::size_t>(left), {0, 0});
  row.insert(row.end(), static_cast<std::size_t>(length), {left, left + length});
  row.insert(row.end(), static_cast<std::size_t>(right), {left + length, left + length});
  return row;
}
std::vector<Seen> after_prefix(std::int64_t prefix, std::int64_t length) {
  std::vector<Seen> row;
  for (std::int64_t i = 0; i < length; ++i) row.push_back({0, std::max(prefix, i + 1)});
  return row;
}

VisibleKeys visible_of(const Rows& rows) {
  const auto size = std::ssize(rows), length = std::ssize(rows[0]);
  const VisibleKeys visible{at::empty({size, length}, at::kLong), at::empty({size, length}, at::kLong)};
  auto *first = visible.first.mutable_data_ptr<std::int64_t>(),
       *end = visible.end.mutable_data_ptr<std::int64_t>();
  for (const auto& row : rows) {
    for (const Seen& seen : row) *first++ = seen.first, *end++ = seen.end;
  }
  return visible;
}

// [B, 1, S, S] by the definition, a key at a time.
at::Tensor hidden_keys(const Rows& rows, const AttentionMask& mask) {
  const auto size = std::ssize(rows), length = std::ssize(rows[0]);
  at::Tensor hidden = at::empty({size, 1, length, length}, at::kBool);
  auto* cell = hidden.mutable_data_ptr<bool>();
  for (const auto& row : rows) {
    for (std::int64_t i = 0; i < length; ++i) {
      const Seen& seen = row[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < length; ++j) {
        *cell++ = j < seen.first || j >= seen.end || i - j > mask.before || j - i > mask.after;
      }
    }
  }
  return hidden;
}

at::Tensor by_definition(const Tensors& in, const at::Tensor& hidden, double scale) {
  const auto group = in[0].size(2) / in[1].size(2);
  const auto by_head = [&](const at::Tensor& x) { return x.repeat_interleave(group, 2).transpose(1, 2); };
  const at::Tensor scores = at::matmul(in[0].transpose(1, 2), by_head(in[1]).transpose(2, 3)) * scale;
  const at::Tensor probabilities = at::softmax(scores.masked_fill(hidden, -1e30), -1).masked_fill(hidden, 0);
  return at::matmul(probabilities, by_head(in[2])).transpose(1, 2);
}

void expect_by_definition(const Rows& rows, std::int64_t heads, std::int64_t key_heads, std::int64_t dim,
                          const AttentionMask& mask) {
  const auto size = std::ssize(rows), length = std::ssize(rows[0]);
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  const VisibleKeys visible = visible_of(rows);
  const at::Tensor hidden = hidden_keys(rows, mask);
  SCOPED_TRACE(::testing::Message() << "S " << length << ", heads " << heads << "/" << key_heads << ", D "
                                    << dim << ", before " << mask.before << ", after " << mask.after);
  test::expect_matches_in_every_dtype(
      [=](const Tensors& in) -> Tensors { return {attention(in[0], in[1], in[2], mask, scale, visible)}; },
      [=](const Tensors& in) -> Tensors { return {by_definition(in, hidden, scale)}; },
      {values({size, length, heads, dim}, 1) * 3, values({size, length, key_heads, dim}, 2) * 3,
       values({size, length, key_heads, dim}, 3)});
}

TEST(VisibleKeys, Mod10DocumentsSeeThemselvesInBothDirections) {
  for (const AttentionMask& mask : {full_mask, AttentionMask{4, 4, 0}, AttentionMask{60, 33, 0}}) {
    expect_by_definition({documents({3, 4}), documents({1, 6})}, 2, 1, 8, mask);
    expect_by_definition({documents({13, 14, 15, 1, 1, 26}), documents({70})}, 4, 2, 5, mask);
    expect_by_definition({documents({64, 65}), documents({31, 33, 32, 33})}, 3, 1, 64, mask);
    expect_by_definition({documents({200, 100, 7, 243}), documents({5, 512, 33})}, 8, 2, 16, mask);
  }
}

TEST(VisibleKeys, Mod10PaddingOnEitherSideIsNotSeenAndSeesNothing) {
  for (const AttentionMask& mask : {full_mask, causal_mask, AttentionMask{20, 20, 0}}) {
    expect_by_definition({padded(0, 5, 2), padded(3, 4, 0)}, 2, 2, 8, mask);
    expect_by_definition({padded(31, 33, 66), padded(0, 130, 0), padded(128, 1, 1)}, 4, 1, 16, mask);
    expect_by_definition({padded(40, 530, 30), padded(600, 0, 0)}, 2, 1, 24, mask);
  }
}

TEST(VisibleKeys, Mod10QueriesSeeTheWholePrefixAndWhatComesBeforeThem) {
  for (const AttentionMask& mask : {full_mask, AttentionMask{50, all, 0}}) {
    expect_by_definition({after_prefix(3, 7), after_prefix(0, 7), after_prefix(7, 7)}, 2, 1, 8, mask);
    expect_by_definition({after_prefix(33, 129), after_prefix(64, 129)}, 4, 2, 32, mask);
    expect_by_definition({after_prefix(513, 560)}, 2, 1, 16, mask);
  }
}

TEST(VisibleKeys, GradientsAreCentralDifferences) {
  const VisibleKeys visible = visible_of({documents({3, 4}), padded(1, 4, 2), after_prefix(3, 7)});

  test::gradcheck(
      [&](const Tensors& in) -> Tensors { return {attention(in[0], in[1], in[2], full_mask, 0.5, visible)}; },
      {values({3, 7, 2, 4}, 1), values({3, 7, 1, 4}, 2), values({3, 7, 1, 4}, 3)});
}

TEST(VisibleKeys, ResultsOfQueriesThatSeeNothingAreZeroAndTheirLseMinusInfinity) {
  const VisibleKeys visible = visible_of({padded(20, 30, 50)});
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const at::Tensor x = values({1, 100, 2, 16}, 1).to(dtype);

    const AttentionBlock got = attention_block(x, x, x, full_mask, 0.25, dtype, visible);
    const auto gradients = attention_block_backward(x, x, x, x, got, full_mask, 0.25, dtype, visible);

    for (const auto& [first, count] : {std::pair{0, 20}, {50, 50}}) {
      EXPECT_EQ(got.out.narrow(1, first, count).abs().max().item<double>(), 0);
      EXPECT_EQ(got.lse.narrow(2, first, count).max().item<double>(),
                -std::numeric_limits<double>::infinity());
      for (const at::Tensor& gradient : {gradients.dq, gradients.dk, gradients.dv})
        EXPECT_EQ(gradient.narrow(1, first, count).abs().max().item<double>(), 0);
    }
  }
}

TEST(VisibleKeys, EndsThatAreNotOfTheQueriesAreRefused) {
  const auto q = values({1, 6, 1, 4}, 1);

  EXPECT_ANY_THROW(attention(q, q, q, full_mask, 1, {{}, at::zeros({1, 5}, at::kLong)}));
  EXPECT_ANY_THROW(attention(q, q, q, full_mask, 1, {{}, at::zeros({1, 6}, at::kInt)}));
}

}  // namespace
}  // namespace d9d::kernels
