#include "kernels/optimizer/code_book.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "kernels/ops/optimizer_ops.hpp"

namespace d9d::test {
namespace {

using kernels::CodeBook;
using kernels::CodeTables;

TEST(CodeBook, GivesEachByteAValueOfItsOwn) {
  for (const CodeBook book : {CodeBook::either_sign, CodeBook::positive}) {
    const CodeTables& tables = code_tables(book);
    const std::set<float> values(std::begin(tables.value), std::end(tables.value));

    EXPECT_EQ(values.size(), 256U);
    EXPECT_EQ(*values.rbegin(), 1);
    EXPECT_EQ(*values.begin(), book == CodeBook::positive ? 0 : -1);
  }
}

TEST(CodeBook, MiddlesLieBetweenValues) {
  const CodeTables& tables = code_tables(CodeBook::either_sign);
  for (int i = 0; i + 1 < tables.above.size; ++i) {
    EXPECT_LT(tables.value[i], tables.above.middle[i]);
    EXPECT_GT(tables.value[i + 1], tables.above.middle[i]);
  }
  for (int i = 1; i + 1 < tables.below.size; ++i) {
    EXPECT_LT(-tables.value[256 - i], tables.below.middle[i]);
    EXPECT_GT(-tables.value[256 - i - 1], tables.below.middle[i]);
  }
  EXPECT_TRUE(std::isinf(tables.above.middle[tables.above.size - 1]));
}

}  // namespace
}  // namespace d9d::test
