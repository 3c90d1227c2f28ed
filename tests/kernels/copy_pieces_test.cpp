#include "kernels/copy_pieces.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <string>

#include "tests/support/error_of.hpp"

namespace {

using d9d::kernels::CopiedPiece;
using d9d::kernels::CopiedPieces;
using d9d::kernels::copy_pieces;
using testing::HasSubstr;

// The same by a copy_ for each piece.
at::Tensor copied_one_by_one(at::Tensor to, const at::Tensor& from, const CopiedPieces& pieces) {
  for (const CopiedPiece& piece : pieces)
    to.narrow(0, piece.to, piece.count).copy_(from.narrow(0, piece.from, piece.count));
  return to;
}

std::string refusal(const at::Tensor& to, const at::Tensor& from, const CopiedPieces& pieces) {
  return d9d::test::error_of<c10::Error>([&] { copy_pieces(to, from, pieces); });
}

}  // namespace

TEST(CopyPieces, MoveRangesAndLeaveTheRest) {
  const CopiedPieces pieces{{7, 0, 3}, {0, 5, 0}, {1, 3, 1}, {30, 40, 9}, {2, 90, 5}};
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble, at::kByte, at::kLong}) {
    const at::Tensor from = at::arange(100, at::kFloat).to(dtype), to = at::full({50}, 7, dtype);
    const at::Tensor expected = copied_one_by_one(to.clone(), from, pieces);

    copy_pieces(to, from, pieces);

    EXPECT_TRUE(to.equal(expected)) << dtype;
  }
}

// More bytes than one thread takes, in pieces of all lengths; the order of `to` is not that of `from`.
TEST(CopyPieces, ShareOutTheBytesOfLongAndShortPieces) {
  CopiedPieces pieces;
  std::int64_t end = 0;
  for (const std::int64_t count : {700'001, 1, 0, 12, 300'000, 5, 65'536, 2}) {
    pieces.push_back({1'200'000 - end - count, end, count});
    end += count;
  }
  const at::Tensor from = at::arange(end, at::kInt), to = at::full({1'200'000}, -1, at::kInt);
  const at::Tensor expected = copied_one_by_one(to.clone(), from, pieces);

  copy_pieces(to, from, pieces);

  EXPECT_TRUE(to.equal(expected));
}

TEST(CopyPieces, MayBeNone) {
  const at::Tensor to = at::full({3}, 1, at::kFloat);

  copy_pieces(to, at::full({0}, 2, at::kFloat), {});
  copy_pieces(to, at::full({0}, 2, at::kFloat), {{3, 0, 0}});

  EXPECT_TRUE(to.equal(at::full({3}, 1, at::kFloat)));
}

TEST(CopyPieces, RefuseRangesOutsideOfTheirTensorsAndOtherTensors) {
  const at::Tensor ten = at::full({10}, 1, at::kFloat), five = at::full({5}, 1, at::kFloat);

  EXPECT_THAT(refusal(ten, five, {{0, 2, 4}}), HasSubstr("4 elements from 2 of 5 to 0 of 10"));
  EXPECT_THAT(refusal(five, ten, {{3, 0, 3}}), HasSubstr("3 elements from 0 of 10 to 3 of 5"));
  EXPECT_THAT(refusal(five, ten, {{-1, 0, 1}}), HasSubstr("1 elements from 0 of 10 to -1 of 5"));
  EXPECT_THAT(refusal(five, ten, {{0, 0, -1}}), HasSubstr("-1 elements"));
  EXPECT_THAT(refusal(five, ten.to(at::kDouble), {}), HasSubstr("flat contiguous tensors of one dtype"));
  EXPECT_THAT(refusal(five, ten.view({2, 5}), {}), HasSubstr("flat contiguous tensors of one dtype"));
}
