#include "runtime/rank/feed/source_feed.hpp"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace d9d {
namespace {

// A row of tokens, 1, and what fills it up, 0.
TensorMap row(const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& starts = {}) {
  TensorMap batch{{"token_mask", at::tensor(tokens, at::kLong).to(at::kBool).unsqueeze(0)}};
  if (!starts.empty()) batch["document_starts"] = at::tensor(starts, at::kLong).unsqueeze(0);
  return batch;
}
std::vector<std::int64_t> values(const at::Tensor& starts) {
  if (!starts.defined()) return {};
  return {starts.const_data_ptr<std::int64_t>(), starts.const_data_ptr<std::int64_t>() + starts.numel()};
}
using Starts = std::vector<std::int64_t>;

TEST(FilledRows, OnTheLeftAreSetApartFromTheirTokens) {
  for (const bool causal : {true, false})
    EXPECT_EQ(values(starts_without_seen_filling(row({0, 0, 1, 1, 0}), causal)), (Starts{0, 0, 2, 2, 4}));
}

TEST(FilledRows, OnTheRightMatterToModelsThatAreNotCausal) {
  EXPECT_FALSE(starts_without_seen_filling(row({1, 1, 0}), true).defined());
  EXPECT_EQ(values(starts_without_seen_filling(row({1, 1, 0}), false)), (Starts{0, 0, 2}));
}

TEST(FilledRows, StayAsTheyAreWhereNothingIsSeen) {
  for (const bool causal : {true, false}) {
    EXPECT_FALSE(starts_without_seen_filling({}, causal).defined());
    EXPECT_FALSE(starts_without_seen_filling(row({1, 1, 1}), causal).defined());
    EXPECT_FALSE(starts_without_seen_filling(row({0, 0, 0}), causal).defined())
        << "a row that counts nowhere";
    EXPECT_FALSE(starts_without_seen_filling(row({0, 1, 1}, {0, 1, 1}), causal).defined())
        << "by the collation";
  }
}

TEST(FilledRows, KeepTheirDocuments) {
  EXPECT_EQ(values(starts_without_seen_filling(row({0, 1, 1, 1, 1, 0}, {0, 0, 0, 3, 3, 3}), true)),
            (Starts{0, 1, 1, 3, 3, 5}));
}

}  // namespace
}  // namespace d9d
