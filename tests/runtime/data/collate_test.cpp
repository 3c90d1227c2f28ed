#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/data/pad_stack.hpp"
#include "runtime/data/token_pooling.hpp"

namespace d9d {
namespace {

at::Tensor row(std::vector<std::int64_t> values) {
  return at::tensor(values, at::kLong);
}

at::Tensor grid(std::vector<std::int64_t> values, std::int64_t rows) {
  return row(std::move(values)).reshape({rows, -1});
}

TEST(PadStack, FillsTheRightOrTheLeftUpToTheLongest) {
  const std::vector<at::Tensor> rows{row({1, 2, 3}), row({}), row({4})};

  EXPECT_TRUE(at::equal(pad_stack_1d(rows, -1), grid({1, 2, 3, -1, -1, -1, 4, -1, -1}, 3)));
  EXPECT_TRUE(at::equal(pad_stack_1d(rows, 0, PadSide::left), grid({1, 2, 3, 0, 0, 0, 0, 0, 4}, 3)));
}

TEST(PadStack, GoesUpToTheNextMultiple) {
  const std::vector<at::Tensor> rows{row({1, 2, 3}), row({4})};

  EXPECT_EQ(pad_stack_1d(rows, 0, PadSide::right, 8).sizes(), (at::IntArrayRef{2, 8}));
  EXPECT_EQ(pad_stack_1d(rows, 0, PadSide::right, 3).sizes(), (at::IntArrayRef{2, 3}));
}

TEST(PadStack, KeepsTheTypeOfTheRows) {
  const std::vector<at::Tensor> rows{at::full({2}, 1.5, at::kFloat), at::full({1}, 2.5, at::kFloat)};

  const at::Tensor out = pad_stack_1d(rows, 0.25);

  EXPECT_EQ(out.scalar_type(), at::kFloat);
  EXPECT_EQ(out.const_data_ptr<float>()[3], 0.25F);
}

TEST(PadStack, RefusesNothingGridsAndImpossibleMultiples) {
  EXPECT_THROW(pad_stack_1d({}, 0), Error);
  EXPECT_THROW(pad_stack_1d(std::vector{grid({1, 2}, 1)}, 0), Error);
  EXPECT_THROW(pad_stack_1d(std::vector{row({1})}, 0, PadSide::right, 0), Error);
}

TEST(TokenPooling, MarksTheFirstTheLastOrAllTokens) {
  const at::Tensor mask = grid({1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, 4);

  EXPECT_TRUE(at::equal(token_pooling_mask(mask, TokenPooling::first),
                        grid({1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, 4)));
  EXPECT_TRUE(at::equal(token_pooling_mask(mask, TokenPooling::last),
                        grid({0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 4)));
  EXPECT_TRUE(at::equal(token_pooling_mask(mask, TokenPooling::all), mask));
  EXPECT_THROW(token_pooling_mask(row({1}), TokenPooling::all), Error);
}

}  // namespace
}  // namespace d9d
