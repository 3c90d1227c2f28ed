// Where documents begin, from the starts of tokens.
#include "kernels/cuda/attention/documents.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

namespace d9d::cuda {
namespace {

at::Tensor rows(const std::vector<int64_t>& starts, int64_t batch) {
  return at::tensor(starts, at::kLong).view({batch, -1});
}

TEST(Documents, BeginWhereATokenIsItsOwnStart) {
  const auto documents = documents_of(rows({0, 0, 2, 3, 3, 0, 0, 0, 0, 0}, 2));

  ASSERT_TRUE(documents);
  EXPECT_TRUE(at::equal(documents->begins, at::tensor({0, 2, 3, 5, 10}, at::kInt)));
  EXPECT_EQ(documents->longest, 5);
}

TEST(Documents, AreNotWhatLimitsKeysInAnotherWay) {
  EXPECT_FALSE(documents_of(rows({0, 0, 1, 2}, 1))) << "the last two tokens and the one before";
  EXPECT_FALSE(documents_of(rows({0, 1, 1, 1}, 2))) << "the second row begins with a later token";
}

}  // namespace
}  // namespace d9d::cuda
