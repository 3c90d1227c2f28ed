// What is left of a batch on each of the ranks that share its sequences.
#include "runtime/rank/feed/context_split.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

at::Tensor numbers(at::IntArrayRef shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return at::arange(count, at::kLong).view(shape);
}
at::Tensor row(std::initializer_list<std::int64_t> values) {
  return at::tensor(std::vector<std::int64_t>(values), at::kLong);
}

TEST(ContextSplit, CutsWhatGoesByTokenAndSaysWhereTheTokensAre) {
  const TensorMap batch{
      {"input_ids", numbers({2, 8})}, {"weights", numbers({2, 8, 3})}, {"sample", numbers({2})}};

  const TensorMap mine = split_sequence(batch, {.rank = 1, .ranks = 2, .order = TokenOrder::zigzag});

  const at::Tensor positions = row({2, 3, 4, 5});
  EXPECT_TRUE(at::equal(mine.at("position_ids"), positions.expand({2, 4})));
  EXPECT_TRUE(at::equal(mine.at("input_ids"), batch.at("input_ids").index_select(1, positions)));
  EXPECT_TRUE(at::equal(mine.at("weights"), batch.at("weights").index_select(1, positions)));
  EXPECT_TRUE(at::equal(mine.at("sample"), batch.at("sample")));
}

TEST(ContextSplit, CutsPositionsThatTheBatchBrings) {
  const TensorMap batch{{"input_ids", numbers({1, 8})}, {"position_ids", numbers({1, 8}) + 100}};

  const TensorMap mine = split_sequence(batch, {.rank = 0, .ranks = 2, .order = TokenOrder::zigzag});

  EXPECT_TRUE(at::equal(mine.at("position_ids"), row({100, 101, 106, 107}).view({1, 4})));
  EXPECT_EQ(mine.at("sequence_length").item<std::int64_t>(), 108);
}

TEST(ContextSplit, LeavesTheStartsOfAllDocuments) {
  const at::Tensor starts = row({0, 0, 0, 3, 3, 3, 3, 7}).view({1, 8});
  const TensorMap batch{{"input_ids", numbers({1, 8})},
                        {"document_starts", starts},
                        {"position_ids", numbers({1, 8}) - starts}};

  const TensorMap mine = split_sequence(batch, {.rank = 1, .ranks = 2, .order = TokenOrder::zigzag});

  EXPECT_TRUE(at::equal(mine.at("document_starts"), starts));
  EXPECT_TRUE(at::equal(mine.at("position_ids"), row({2, 0, 1, 2}).view({1, 4})));
  EXPECT_TRUE(at::equal(mine.at("places_in_rows"), row({2, 3, 4, 5})));
}

TEST(ContextSplit, LeavesTheBatchOfARankAloneAsItIs) {
  const TensorMap batch{{"input_ids", numbers({1, 7})}};

  const TensorMap mine = split_sequence(batch, {});

  EXPECT_EQ(mine.size(), 1U);
  EXPECT_TRUE(mine.at("input_ids").is_same(batch.at("input_ids")));
}

TEST(ContextSplit, SaysWhatToPadToAndWhatIsMissing) {
  const ContextPlace place{.rank = 0, .ranks = 2, .order = TokenOrder::zigzag};
  const auto error_of = [&](const TensorMap& batch) -> std::string {
    return test::error_of([&] { split_sequence(batch, place); });
  };

  EXPECT_THAT(error_of({{"input_ids", numbers({1, 6})}}), testing::HasSubstr("pad to 8"));
  EXPECT_THAT(error_of({{"tokens", numbers({1, 8})}}), testing::HasSubstr("no input_ids"));
}

}  // namespace
}  // namespace d9d
