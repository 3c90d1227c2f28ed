// Mod30, Mod32: biases of the scores against torch's scaled_dot_product_attention with attn_mask in fp64, by products
// and softmax (its math path): the output, and the gradients of queries, keys, values and the bias.
#include "kernels/attention/score_bias.hpp"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_block.hpp"
#include "kernels/attention/sinks.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::kernels {
namespace {

using test::Tensors;
using test::values;
using testing::AllOf;
using testing::HasSubstr;

constexpr double hidden_score = -std::numeric_limits<double>::infinity();

struct Sizes {
  std::int64_t batch, queries, keys, heads, key_heads, dim;
};

// 0 where the mask shows a key, else -infinity, [Sq, Sk].
at::Tensor band(const AttentionMask& mask, std::int64_t queries, std::int64_t keys) {
  at::Tensor bias = at::zeros({queries, keys}, at::kDouble);
  auto* cell = bias.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t j = 0; j < keys; ++j, ++cell)
      if (j < first_key(mask, i) || j >= end_of_keys(mask, i, keys)) *cell = hidden_score;
  }
  return bias;
}

at::Tensor by_torch(const Tensors& in, const std::optional<at::Tensor>& attn_mask, double scale) {
  const auto group = in[0].size(2) / in[1].size(2);
  const auto by_head = [&](const at::Tensor& x) { return x.repeat_interleave(group, 2).transpose(1, 2); };
  at::globalContext().setSDPUseFlash(false);  // leaves its math path
  const at::Tensor out = at::scaled_dot_product_attention(in[0].transpose(1, 2), by_head(in[1]),
                                                          by_head(in[2]), attn_mask, 0.0, false, scale);
  at::globalContext().setSDPUseFlash(true);
  return out.transpose(1, 2);
}

// A bias by distance as one of every query and key, an element at a time.
at::Tensor spread(const at::Tensor& by_distance, std::int64_t queries, std::int64_t keys) {
  std::vector<at::Tensor> rows;
  for (std::int64_t i = 0; i < queries; ++i) rows.push_back(by_distance.narrow(3, queries - 1 - i, keys));
  return at::cat(rows, 2);
}

Tensors inputs(const Sizes& s, const at::Tensor& bias) {
  return {values({s.batch, s.queries, s.heads, s.dim}, 1) * 3,
          values({s.batch, s.keys, s.key_heads, s.dim}, 2) * 3,
          values({s.batch, s.keys, s.key_heads, s.dim}, 3), bias};
}

void expect_torchs(const Sizes& s, const at::Tensor& bias, const AttentionMask& mask,
                   bool by_distance = false) {
  SCOPED_TRACE(testing::Message() << "bias " << bias.sizes() << (by_distance ? " by distance" : "")
                                  << ", heads " << s.heads << "/" << s.key_heads << ", before " << mask.before
                                  << ", after " << mask.after);
  const double scale = 1 / std::sqrt(static_cast<double>(s.dim));
  const at::Tensor of_mask = band(mask, s.queries, s.keys);
  test::expect_matches_in_every_dtype(
      [=](const Tensors& in) -> Tensors {
        return {attention(in[0], in[1], in[2], mask, scale, {}, {}, {in[3], by_distance})};
      },
      [=](const Tensors& in) -> Tensors {
        const at::Tensor bias = by_distance ? spread(in[3], s.queries, s.keys) : in[3];
        return {by_torch(in, bias + of_mask, scale)};
      },
      inputs(s, bias));
}

// Of every shape that is shared by some of batch, heads and queries.
std::vector<at::Tensor> biases_of(const Sizes& s) {
  std::vector<at::Tensor> all;
  for (const std::int64_t b : {std::int64_t{1}, s.batch}) {
    for (const std::int64_t h : {std::int64_t{1}, s.heads}) {
      for (const std::int64_t q : {std::int64_t{1}, s.queries})
        all.push_back(values({b, h, q, s.keys}, 7) * 2);
    }
  }
  return all;
}

constexpr Sizes sizes[] = {{2, 7, 7, 4, 2, 5},   {3, 33, 33, 2, 2, 8},   {2, 70, 70, 4, 1, 16},
                           {2, 5, 20, 2, 1, 12}, {1, 150, 97, 3, 1, 24}, {1, 1, 1, 2, 1, 8}};

// MOD-32.
TEST(ScoreBias, Mod32IsAddedToTheScoresInEveryShape) {
  for (const Sizes& s : sizes) {
    for (const at::Tensor& bias : biases_of(s)) expect_torchs(s, bias, full_mask);
  }
}

TEST(ScoreBias, IsLimitedByTheMaskAsWell) {
  for (const AttentionMask& mask : {causal_mask, AttentionMask{4, 0, 0}, AttentionMask{20, 3, 0}}) {
    for (const at::Tensor& bias : biases_of(sizes[1])) expect_torchs(sizes[1], bias, mask);
    expect_torchs({1, 300, 300, 2, 1, 16}, values({1, 2, 300, 300}, 7) * 2, mask);
  }
}

TEST(ScoreBias, ByDistanceIsOneOfDiagonals) {
  for (const Sizes& s : sizes) {
    for (const std::int64_t b : {std::int64_t{1}, s.batch}) {
      for (const std::int64_t h : {std::int64_t{1}, s.heads})
        expect_torchs(s, values({b, h, 1, s.queries + s.keys - 1}, 7) * 2, full_mask, true);
    }
  }
  for (const AttentionMask& mask : {causal_mask, AttentionMask{40, 0, 0}, AttentionMask{20, 30, 0}})
    expect_torchs({2, 300, 300, 4, 2, 16}, values({1, 4, 1, 599}, 7) * 2, mask, true);
}

TEST(ScoreBias, GradientsAreCentralDifferences) {
  const auto check = [](const at::Tensor& bias, bool by_distance) {
    test::gradcheck(
        [=](const Tensors& in) -> Tensors {
          return {attention(in[0], in[1], in[2], causal_mask, 0.5, {}, {}, {in[3], by_distance})};
        },
        inputs({2, 6, 6, 2, 1, 3}, bias));
  };
  check(values({2, 2, 6, 6}, 4), false);
  check(values({1, 1, 1, 6}, 4), false);
  check(values({1, 2, 1, 11}, 4), true);
}

// Rows in which no key, one key and some keys are hidden; the hidden ones do not depend on the rest.
at::Tensor mask_of_booleans(std::int64_t batch, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
  const at::Tensor sees = values({batch, heads, queries, keys}, 9) > 0.2;
  sees.select(2, 0).fill_(true);
  sees.select(2, queries - 1).fill_(false);
  sees.select(2, queries / 2).fill_(false);
  sees.select(2, queries / 2).select(2, keys / 2).fill_(true);
  return sees;
}

// MOD-30.
TEST(ScoreBias, Mod30OfAMaskOfBooleansHidesKeys) {
  for (const Sizes& s : {Sizes{2, 7, 7, 4, 2, 8}, {1, 40, 70, 2, 1, 16}, {1, 150, 150, 2, 2, 8}}) {
    for (const std::int64_t heads : {std::int64_t{1}, s.heads}) {
      const at::Tensor sees = mask_of_booleans(s.batch, heads, s.queries, s.keys);
      const Tensors in = inputs(s, {});
      test::expect_matches_in_every_dtype(
          [=](const Tensors& x) -> Tensors {
            return {attention(x[0], x[1], x[2], full_mask, 0.3, {}, {}, {bias_of_mask(sees)})};
          },
          [=](const Tensors& x) -> Tensors { return {by_torch(x, sees, 0.3)}; }, {in[0], in[1], in[2]});
    }
  }
  EXPECT_ANY_THROW(bias_of_mask(at::zeros({2, 2})));
}

// Whatever hides them: a mask, lowest numbers, scores that overflow.
TEST(ScoreBias, IsNeverTheCauseOfNan) {
  const Sizes s{1, 40, 40, 2, 1, 16};
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    for (const double factor : {1.0, 1e4}) {
      for (const double hides : {hidden_score, -3e38, -1e30}) {
        Tensors in = inputs(
            s, at::zeros({1, 2, 40, 40}).masked_fill(mask_of_booleans(1, 2, 40, 40).logical_not(), hides));
        for (std::size_t i = 0; i < 4; ++i) in[i] = in[i].to(dtype).requires_grad_();

        const at::Tensor out = attention(in[0], in[1], in[2], causal_mask, factor, {}, {}, {in[3]});
        out.sum().backward();

        EXPECT_TRUE(out.isfinite().all().item<bool>()) << dtype << " " << factor << " " << hides;
        if (hides == hidden_score) {
          EXPECT_EQ(out.select(1, 39).abs().max().item<double>(), 0) << dtype;
        }
        for (const at::Tensor& x : in)
          EXPECT_TRUE(x.grad().isfinite().all().item<bool>()) << dtype << " " << factor << " " << hides;
      }
    }
  }
}

// pytorch#109517: the first keys of all queries have the lowest float.
TEST(ScoreBias, OfTheLowestFloatHidesTheFirstKeysOfALongRow) {
  const Tensors in = inputs({1, 441, 441, 2, 2, 16}, at::zeros({1, 1, 1, 441}));
  in[3].narrow(3, 0, 128).fill_(std::numeric_limits<float>::lowest());
  const auto rest = [](const at::Tensor& x) { return x.narrow(1, 128, 313); };
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    Tensors leaves;
    for (const at::Tensor& x : in) leaves.push_back(x.detach().to(dtype).requires_grad_());

    const at::Tensor out = attention(leaves[0], leaves[1], leaves[2], full_mask, 0.3, {}, {}, {leaves[3]});
    out.sum().backward();

    const auto exact = [](const at::Tensor& x) { return x.detach().to(at::kDouble); };
    test::expect_close(
        out, by_torch({exact(leaves[0]), rest(exact(leaves[1])), rest(exact(leaves[2]))}, std::nullopt, 0.3),
        test::tolerance(dtype), "out");
    for (const at::Tensor& x : leaves) EXPECT_TRUE(x.grad().isfinite().all().item<bool>()) << dtype;
  }
}

TEST(ScoreBias, IsTakenInFloat32BesideBfloat16) {
  const Tensors in = inputs({2, 33, 33, 4, 2, 8}, values({1, 4, 33, 33}, 7) * 2);
  const auto as = [](const at::Tensor& x, at::ScalarType dtype) { return x.to(dtype); };
  const at::Tensor wide = as(in[3], at::kFloat).requires_grad_();

  const at::Tensor out = attention(as(in[0], at::kBFloat16), as(in[1], at::kBFloat16),
                                   as(in[2], at::kBFloat16), causal_mask, 0.3, {}, {}, {wide});
  out.sum().backward();

  EXPECT_EQ(out.scalar_type(), at::kBFloat16);
  EXPECT_EQ(wide.grad().scalar_type(), at::kFloat);
  const Tensors rounded{as(as(in[0], at::kBFloat16), at::kDouble), as(as(in[1], at::kBFloat16), at::kDouble),
                        as(as(in[2], at::kBFloat16), at::kDouble)};
  test::expect_close(out, by_torch(rounded, as(wide.detach(), at::kDouble) + band(causal_mask, 33, 33), 0.3),
                     2e-2, "out");
}

// Documents, padding, a bias and sinks at once, in every dtype.
TEST(ScoreBias, GoesWithVisibleKeysAndSinks) {
  const Sizes s{2, 40, 40, 4, 2, 8};
  const at::Tensor first = at::zeros({2, 40}, at::kLong), end = at::full({2, 40}, 40, at::kLong);
  first[0].narrow(0, 15, 25).fill_(15);
  first[1].narrow(0, 33, 7).fill_(33);  // padding
  end[1].fill_(33);
  const at::Tensor key = at::arange(40), seen = (key >= first.unsqueeze(2)) & (key < end.unsqueeze(2));
  const at::Tensor limits = bias_of_mask(seen, at::kDouble).unsqueeze(1) + band(causal_mask, 40, 40);
  for (const bool by_distance : {false, true}) {
    for (const std::int64_t batch : {1, 2}) {
      const at::Tensor bias = by_distance ? values({batch, 4, 1, 79}, 5) : values({batch, 1, 40, 40}, 5);
      Tensors in = inputs(s, bias * 2);
      in.push_back(values({4}, 6));
      test::expect_matches_in_every_dtype(
          [=](const Tensors& x) -> Tensors {
            return {attention(x[0], x[1], x[2], causal_mask, 0.3, {first, end}, sink_logits(x[4]),
                              {x[3], by_distance})};
          },
          [=](const Tensors& x) -> Tensors {
            // A sink is one more key whose value is zero and whose score is the bias alone.
            const at::Tensor dense = (by_distance ? spread(x[3], 40, 40) : x[3]) + limits;
            const at::Tensor sinks = x[4].view({1, 4, 1, 1}).expand({2, 4, 40, 1});
            const auto with_zero = [](const at::Tensor& y) {
              return at::constant_pad_nd(y, {0, 0, 0, 0, 0, 1});
            };
            return {by_torch({x[0], with_zero(x[1]), with_zero(x[2])},
                             at::cat({dense.expand({2, 4, 40, 40}), sinks}, 3), 0.3)};
          },
          in);
    }
  }
}

// Columns of the bias go with the keys of their block. A query may see no key of one block, or of both.
TEST(ScoreBias, OfBlocksOfKeysThatAreMergedIsThatOfAll) {
  const Sizes s{2, 33, 60, 4, 2, 16};
  const at::Tensor bias =
      bias_of_mask(mask_of_booleans(2, 4, 33, 60), at::kDouble) + values({2, 4, 33, 60}, 7);
  bias.narrow(3, 0, 25).select(2, 3).fill_(hidden_score);
  bias.narrow(3, 25, 35).select(2, 4).fill_(hidden_score);
  const Tensors in = inputs(s, bias);
  const at::Tensor grad = values({2, 33, 4, 16}, 8);
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    const auto as = [=](const at::Tensor& x) { return x.to(dtype); };
    const auto block = [&](std::int64_t from, std::int64_t count) {
      const auto keys = [&](const at::Tensor& x) { return as(x).narrow(1, from, count); };
      return attention_block(as(in[0]), keys(in[1]), keys(in[2]), full_mask, 0.25, dtype, {},
                             {as(bias).narrow(3, from, count)});
    };
    const AttentionBlock whole = block(0, 60), merged = block(0, 25);
    merge_attention_block(merged, block(25, 35));

    const double tolerance = dtype == at::kDouble ? 1e-12 : 1e-5;
    test::expect_close(merged.out, whole.out, tolerance, "out");
    EXPECT_TRUE(at::allclose(merged.lse, whole.lse, tolerance, tolerance));

    const auto back = [&](std::int64_t from, std::int64_t count) {
      const auto keys = [&](const at::Tensor& x) { return as(x).narrow(1, from, count); };
      return attention_block_backward(as(grad), as(in[0]), keys(in[1]), keys(in[2]), merged, full_mask, 0.25,
                                      dtype, {}, {as(bias).narrow(3, from, count), false, true});
    };
    const auto all = back(0, 60), first = back(0, 25), second = back(25, 35);
    test::expect_close(first.dq + second.dq, all.dq, tolerance, "dq");
    test::expect_close(at::cat({first.dk, second.dk}, 1), all.dk, tolerance, "dk");
    test::expect_close(at::cat({first.dbias, second.dbias}, 3), all.dbias, tolerance, "dbias");
    EXPECT_TRUE(all.dbias.isfinite().all().item<bool>());
  }
}

TEST(ScoreBias, OfHeadsOfAnotherWidthThanValues) {
  const at::Tensor bias = values({1, 4, 33, 33}, 7);
  test::expect_matches_in_every_dtype(
      [](const Tensors& in) -> Tensors {
        return {attention(in[0], in[1], in[2], causal_mask, 0.25, {}, {}, {in[3]})};
      },
      [](const Tensors& in) -> Tensors { return {by_torch(in, in[3] + band(causal_mask, 33, 33), 0.25)}; },
      {values({2, 33, 4, 16}, 1), values({2, 33, 2, 16}, 2), values({2, 33, 2, 24}, 3), bias});
}

// Of a view, as a model slices it, and of one that is expanded.
TEST(ScoreBias, TakesAnyStrides) {
  const Sizes s{2, 17, 17, 4, 2, 8};
  const at::Tensor wide = values({17, 2, 4, 20}, 7);
  expect_torchs(s, wide.narrow(3, 2, 17).permute({1, 2, 0, 3}), causal_mask);
  const auto expanded = [](const at::Tensor& row) { return row.expand({2, 4, 17, 17}); };
  test::expect_matches_in_every_dtype(
      [=](const Tensors& in) -> Tensors {
        return {attention(in[0], in[1], in[2], causal_mask, 0.3, {}, {}, {expanded(in[3])})};
      },
      [=](const Tensors& in) -> Tensors {
        return {by_torch(in, expanded(in[3]) + band(causal_mask, 17, 17), 0.3)};
      },
      inputs(s, values({2, 1, 1, 17}, 8)));
}

TEST(ScoreBias, HasTheSameGradientInEveryRun) {
  const Tensors in = inputs({3, 150, 150, 4, 2, 16}, values({1, 1, 150, 150}, 7));
  const auto gradient = [&] {
    const at::Tensor bias = in[3].to(at::kFloat).requires_grad_();
    attention(in[0].to(at::kFloat), in[1].to(at::kFloat), in[2].to(at::kFloat), causal_mask, 0.3, {}, {},
              {bias})
        .square()
        .sum()
        .backward();
    return bias.grad();
  };
  const at::Tensor once = gradient();
  const int threads = at::get_num_threads();
  for (const int count : {1, 2, 3}) {
    at::set_num_threads(count);
    EXPECT_TRUE(at::equal(gradient(), once)) << count << " threads";
  }
  at::set_num_threads(threads);
}

std::string refusal_of(const at::Tensor& bias, bool by_distance = false) {
  const at::Tensor q = values({2, 6, 4, 8}, 1).to(at::kFloat), k = values({2, 9, 2, 8}, 2).to(at::kFloat);
  return test::error_of<c10::Error>([&] { attention(q, k, k, full_mask, 1, {}, {}, {bias, by_distance}); });
}

TEST(ScoreBias, ThatDoesNotFitIsRefusedWithTheShapesThatDo) {
  EXPECT_EQ(refusal_of(at::zeros({1, 4, 6, 9})), "no error");
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{
           {3, 4, 6, 9}, {1, 2, 6, 9}, {1, 4, 5, 9}, {1, 4, 6, 1}, {1, 4, 6, 8}, {6, 9}}) {
    EXPECT_THAT(refusal_of(at::zeros(shape)),
                AllOf(HasSubstr("a bias ["), HasSubstr("expected [B or 1, Hq or 1, Sq or 1, Sk]")));
  }
  EXPECT_EQ(refusal_of(at::zeros({1, 4, 1, 14}), true), "no error");
  EXPECT_THAT(refusal_of(at::zeros({1, 4, 1, 15}), true),
              HasSubstr("expected [B or 1, Hq or 1, 1, Sq + Sk - 1]"));
  EXPECT_THAT(refusal_of(at::zeros({1, 4, 6, 9}, at::kDouble)),
              HasSubstr("expected float32 or the queries' dtype"));
  EXPECT_THAT(refusal_of(at::zeros({1, 4, 6, 9}, at::kBool)), HasSubstr("kernels::bias_of_mask"));
}

}  // namespace
}  // namespace d9d::kernels
