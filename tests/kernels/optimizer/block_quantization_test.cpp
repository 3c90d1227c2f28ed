#include "kernels/optimizer/block_quantization.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "tests/support/gradcheck.hpp"

using d9d::kernels::CodeBook;
using d9d::test::values;

namespace {

struct Packed {
  at::Tensor codes, scales;
};

Packed packed(const at::Tensor& x, int64_t block, CodeBook book) {
  Packed result{at::empty({x.numel()}, at::kByte), at::empty({(x.numel() + block - 1) / block})};
  d9d::kernels::quantize_blocks(x, block, book, result.codes, result.scales);
  return result;
}

at::Tensor unpacked(const Packed& from, int64_t block, CodeBook book) {
  const at::Tensor x = at::empty({from.codes.numel()});
  d9d::kernels::dequantize_blocks(from.codes, from.scales, block, book, x);
  return x;
}

// Of magnitudes over ten powers of ten.
at::Tensor spread(int64_t count, int salt) {
  const at::Tensor powers = at::pow(10.0, values({count}, salt).abs() * -10);
  return (values({count}, salt + 1) * powers).to(at::kFloat).contiguous();
}

// What all bytes stand for, with the scale 1.
at::Tensor book_values(CodeBook book) {
  return unpacked({at::arange(256, at::kByte), at::ones({1})}, 256, book);
}

constexpr CodeBook books[] = {CodeBook::either_sign, CodeBook::positive};

}  // namespace

TEST(BlockQuantization, HasTheValuesOfDynamicQuantisation) {
  const at::Tensor either = std::get<0>(book_values(CodeBook::either_sign).sort());
  const at::Tensor positive = book_values(CodeBook::positive);

  EXPECT_EQ(positive[0].item<float>(), 0);
  EXPECT_FLOAT_EQ(positive[1].item<float>(), 3.25e-7F);  // 1e-6 (0.1 + 0.9 / 4)
  EXPECT_FLOAT_EQ(positive[126].item<float>(), 0.1F * (0.1F + 0.9F * 127 / 128));
  EXPECT_FLOAT_EQ(positive[127].item<float>(), 0.1F + 0.9F / 256);
  EXPECT_FLOAT_EQ(positive[254].item<float>(), 0.1F + 0.9F * 255 / 256);
  EXPECT_EQ(positive[255].item<float>(), 1);
  EXPECT_TRUE((positive.slice(0, 1) > positive.slice(0, 0, 255)).all().item<bool>());
  EXPECT_EQ(book_values(CodeBook::either_sign)[0].item<float>(), 0);
  EXPECT_EQ(either[0].item<float>(), -1);
  EXPECT_EQ(either[255].item<float>(), 1);
  EXPECT_EQ((either < 0).sum().item<int64_t>(), 127);
  EXPECT_TRUE((either.slice(0, 1) > either.slice(0, 0, 255)).all().item<bool>());
  // Without the largest ones the two signs are mirrors.
  EXPECT_TRUE(at::equal(either.slice(0, 1, 127), either.slice(0, 128, 254).neg().flip(0)));
}

TEST(BlockQuantization, TakesTheNearestValue) {
  for (const CodeBook book : books) {
    at::Tensor x = spread(20000, 3);
    if (book == CodeBook::positive) x = x.abs();
    x[0] = 1;
    const at::Tensor back = unpacked(packed(x, x.numel(), book), x.numel(), book);

    const at::Tensor distances = (x.unsqueeze(1) - book_values(book).unsqueeze(0)).abs();
    const at::Tensor nearest = std::get<0>(distances.min(1));
    const at::Tensor allowed = nearest + nearest * 1e-6 + (book == CodeBook::positive ? 3.25e-7 : 1e-12);
    EXPECT_TRUE(((x - back).abs() <= allowed).all().item<bool>());
  }
}

TEST(BlockQuantization, GivesTheSameBytesForWhatItReadBack) {
  for (const CodeBook book : books) {
    for (const int64_t block : {1, 7, 64, 5000}) {
      for (const double scale : {1.0, 1e-20, 1e20, 1e-29}) {
        at::Tensor x = spread(5000, 5) * scale;
        if (book == CodeBook::positive) x = x.abs();
        const Packed once = packed(x, block, book);

        const Packed twice = packed(unpacked(once, block, book), block, book);

        EXPECT_TRUE(at::equal(once.codes, twice.codes)) << block << " " << scale;
        EXPECT_TRUE(at::equal(once.scales, twice.scales)) << block << " " << scale;
      }
    }
  }
}

TEST(BlockQuantization, KeepsTheLargestOfEachBlock) {
  const at::Tensor x = at::tensor({0.5, -4.0, 1.0, 3.0, 0.0, 0.0, -2.0}, at::kFloat);

  const Packed result = packed(x, 3, CodeBook::either_sign);

  EXPECT_TRUE(at::equal(result.scales, at::tensor({4.0, 3.0, 2.0}, at::kFloat)));
  const at::Tensor back = unpacked(result, 3, CodeBook::either_sign);
  for (const int64_t exact : {1, 3, 4, 5, 6})
    EXPECT_EQ(back[exact].item<float>(), x[exact].item<float>()) << exact;
}

TEST(BlockQuantization, LeavesNothingPositiveAtZero) {
  const at::Tensor x = at::tensor({1.0, 1e-20, 0.0}, at::kFloat);

  const at::Tensor back = unpacked(packed(x, 3, CodeBook::positive), 3, CodeBook::positive);

  EXPECT_GT(back[1].item<float>(), 0);
  EXPECT_EQ(back[2].item<float>(), 0);
  const at::Tensor tiny = at::tensor({1e-31, -1e-35}, at::kFloat);
  const Packed zero = packed(tiny, 2, CodeBook::either_sign);
  EXPECT_EQ(zero.scales.item<float>(), 0);
  EXPECT_TRUE(at::equal(unpacked(zero, 2, CodeBook::either_sign), at::zeros({2})));
}

TEST(BlockQuantization, RefusesTensorsThatDoNotFit) {
  const at::Tensor x = at::zeros({10}), codes = at::zeros({10}, at::kByte);

  EXPECT_THROW(d9d::kernels::quantize_blocks(x, 4, CodeBook::positive, codes, at::zeros({2})), c10::Error);
  EXPECT_THROW(d9d::kernels::quantize_blocks(x, 0, CodeBook::positive, codes, at::zeros({2})), c10::Error);
  EXPECT_THROW(d9d::kernels::quantize_blocks(x.to(at::kDouble), 5, CodeBook::positive, codes, at::zeros({2})),
               c10::Error);
}
