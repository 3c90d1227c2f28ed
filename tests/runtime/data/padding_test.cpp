#include "runtime/data/padding.hpp"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

at::Tensor ids(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}
const std::vector<at::Tensor> rows{ids({1, 2, 3}), ids({4}), ids({})};

// DATA-06. Worked out by the rules of the original's pad_stack_1d.
TEST(PadStack, FillsUpOnTheRightUnlessToldOtherwise) {
  EXPECT_TRUE(pad_stack(rows).equal(ids({1, 2, 3, 4, 0, 0, 0, 0, 0}).view({3, 3})));
  EXPECT_TRUE(pad_stack(rows, {.value = -100, .side = PadSide::left})
                  .equal(ids({1, 2, 3, -100, -100, 4, -100, -100, -100}).view({3, 3})));
}

// DATA-06.
TEST(PadStack, RoundsTheLengthUp) {
  const std::vector<at::Tensor> two{ids({1, 2, 3}), ids({4})};

  EXPECT_TRUE(
      pad_stack(two, {.value = 9, .multiple_of = 2}).equal(ids({1, 2, 3, 9, 4, 9, 9, 9}).view({2, 4})));
  EXPECT_TRUE(pad_stack(two, {.value = 9, .side = PadSide::left, .multiple_of = 4})
                  .equal(ids({9, 1, 2, 3, 9, 9, 9, 4}).view({2, 4})));
  EXPECT_EQ(pad_stack(two, {.multiple_of = 3}).size(1), 3) << "is a multiple already";
}

TEST(PadStack, KeepsTheDtypeAndNamesARowThatDiffers) {
  const std::vector<at::Tensor> numbers{at::tensor({0.5, 1.5}, at::kFloat), at::tensor({2.5}, at::kFloat)};
  const at::Tensor expected = at::tensor({0.5, 1.5, 2.5, -1.5}, at::kFloat).view({2, 2});

  EXPECT_TRUE(pad_stack(numbers, {.value = -1.5}).equal(expected));
  EXPECT_THAT(test::error_of([&] {
                pad_stack(std::vector{numbers[0], ids({1})});
              }),
              HasSubstr("row 1 is a Long tensor of 1 dimensions, expected Float of one dimension"));
  EXPECT_THAT(test::error_of([&] { pad_stack(std::vector{expected}); }), HasSubstr("of 2 dimensions"));
}

// DATA-06.
TEST(PadStack, RefusesNoRowsAndANumberBelowOne) {
  EXPECT_THAT(test::error_of([] { pad_stack(std::span<const at::Tensor>()); }), HasSubstr("no rows"));
  EXPECT_THAT(test::error_of([] { pad_stack(rows, {.multiple_of = 0}); }), HasSubstr("multiple_of is 0"));
}

TEST(PadStack, OfSamplesHasAMaskToIt) {
  const std::vector<Sample> samples{{.input_ids = {5, 6, 7}, .labels = {6, 7, 8}},
                                    {.input_ids = {9, 0}, .labels = {1, -100}, .token_mask = {true, false}}};

  EXPECT_TRUE(pad_stack(samples, &Sample::labels, {.value = ignored_label, .side = PadSide::left})
                  .equal(ids({6, 7, 8, -100, 1, -100}).view({2, 3})));
  const Padding left{.value = 3, .side = PadSide::left, .multiple_of = 4};
  EXPECT_TRUE(pad_token_mask(samples, left).equal(ids({0, 1, 1, 1, 0, 0, 1, 0}).view({2, 4}).to(at::kBool)));
}

}  // namespace
}  // namespace d9d
