#include "runtime/data/next_tokens.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "runtime/data/sample_source.hpp"

namespace d9d {
namespace {

at::Tensor row(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong).unsqueeze(0);
}

// Of one sample and one depth.
void expect_depth(const TensorMap& batch, const char* name, std::int64_t depth,
                  const std::vector<std::int64_t>& expected) {
  EXPECT_TRUE(at::equal(batch.at(name).select(2, depth - 1).to(at::kLong), row(expected)))
      << name << " of " << depth;
}

TEST(NextTokens, AreThoseBehindEachToken) {
  TensorMap batch{{"input_ids", row({5, 6, 7, 8})}, {"labels", row({6, 7, ignored_label, 9})}};

  add_next_tokens(batch, 2);

  EXPECT_EQ(batch.at("next_ids").sizes(), at::IntArrayRef({1, 4, 2}));
  expect_depth(batch, "next_ids", 1, {6, 7, 8, 8});
  expect_depth(batch, "next_ids", 2, {7, 8, 8, 8});
  expect_depth(batch, "next_labels", 1, {7, ignored_label, 9, ignored_label});
  expect_depth(batch, "next_labels", 2, {ignored_label, 9, ignored_label, ignored_label});
  EXPECT_TRUE(at::equal(batch.at("whole_labels"), at::tensor({3, 4}, at::kLong)))
      << "of four positions three";
}

TEST(NextTokens, OfAnotherDocumentDoNotCount) {
  TensorMap batch{{"input_ids", row({5, 6, 7, 8, 9})},
                  {"labels", row({6, 7, 8, 9, 10})},
                  {"position_ids", row({0, 1, 0, 1, 2})}};

  add_next_tokens(batch, 2);

  expect_depth(batch, "next_labels", 1, {7, ignored_label, 9, 10, ignored_label});
  expect_depth(batch, "next_labels", 2, {ignored_label, ignored_label, 10, ignored_label, ignored_label});
}

// The first four positions are two documents of two tokens, the last one fills the row up.
TEST(NextTokens, AreThereWhereADocumentGoesOnAndNothingIsFilledUp) {
  const at::Tensor mask = row({1, 1, 1, 1, 0}).to(at::kBool);
  TensorMap batch{{"input_ids", row({5, 6, 7, 8, 0})},
                  {"labels", row({ignored_label, ignored_label, 8, ignored_label, ignored_label})},
                  {"position_ids", row({0, 1, 0, 1, 2})},
                  {"token_mask", mask}};

  add_next_tokens(batch, 1);
  expect_depth(batch, "next_token_mask", 1, {1, 0, 1, 0, 0});
  batch.erase("token_mask");
  add_next_tokens(batch, 1);
  expect_depth(batch, "next_token_mask", 1, {1, 0, 1, 1, 0});
}

TEST(NextTokens, ReachBeyondShortSamples) {
  TensorMap batch{{"input_ids", row({5, 6})}, {"labels", row({6, 7})}};

  add_next_tokens(batch, 3);

  expect_depth(batch, "next_ids", 3, {6, 6});
  expect_depth(batch, "next_labels", 3, {ignored_label, ignored_label});
}

TEST(NextTokens, AreNotAddedForModelsThatPredictOne) {
  TensorMap batch{{"input_ids", row({5, 6})}, {"labels", row({6, 7})}};

  add_next_tokens(batch, 0);

  EXPECT_EQ(batch.size(), 2U);
}

}  // namespace
}  // namespace d9d
