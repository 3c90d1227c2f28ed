#include "runtime/data/token_pooling.hpp"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

at::Tensor three_rows(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong).view({3, -1});
}

// DATA-07. Worked out by the rules of the original, which assumes padding on the right: the first column, the sum of
// the mask less one, the mask.
TEST(TokenPooling, ChoosesTokensOfRowsFilledUpOnTheRight) {
  const at::Tensor mask = three_rows({1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1});

  EXPECT_TRUE(
      token_pooling_mask(mask, TokenPooling::first).equal(three_rows({1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0})));
  EXPECT_TRUE(
      token_pooling_mask(mask, TokenPooling::last).equal(three_rows({0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1})));
  EXPECT_TRUE(token_pooling_mask(mask, TokenPooling::all).equal(mask));
  const at::Tensor of_bools = token_pooling_mask(mask.to(at::kBool), TokenPooling::last);
  EXPECT_TRUE(of_bools.equal(three_rows({0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1}).to(at::kBool)));
}

TEST(TokenPooling, ChoosesTokensOfRowsFilledUpOnTheLeftAndNoneOfEmptyRows) {
  const at::Tensor mask = three_rows({0, 1, 1, 0, 0, 1, 0, 0, 0});

  EXPECT_TRUE(token_pooling_mask(mask, TokenPooling::first).equal(three_rows({0, 1, 0, 0, 0, 1, 0, 0, 0})));
  EXPECT_TRUE(token_pooling_mask(mask, TokenPooling::last).equal(three_rows({0, 0, 1, 0, 0, 1, 0, 0, 0})));
}

TEST(TokenPooling, OfPackedRowsChoosesInEachDocument) {
  const at::Tensor starts = at::tensor({0, 0, 0, 3, 4, 4, 6}, at::kLong).view({1, 7});
  const at::Tensor mask = at::tensor({1, 1, 1, 1, 1, 1, 0}, at::kLong).view({1, 7});

  EXPECT_TRUE(token_pooling_mask(mask, TokenPooling::first, starts)
                  .equal(at::tensor({1, 0, 0, 1, 1, 0, 0}, at::kLong).view({1, 7})));
  EXPECT_TRUE(token_pooling_mask(mask, TokenPooling::last, starts)
                  .equal(at::tensor({0, 0, 1, 1, 0, 1, 0}, at::kLong).view({1, 7})));
}

TEST(TokenPooling, RefusesAMaskThatIsNotOfRows) {
  EXPECT_THAT(test::error_of([] {
                token_pooling_mask(at::tensor({1, 1}, at::kLong), TokenPooling::first);
              }),
              testing::HasSubstr("1 dimensions, expected [batch, sequence]"));
}

}  // namespace
}  // namespace d9d
