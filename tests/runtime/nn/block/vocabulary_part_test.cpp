#include "runtime/nn/block/vocabulary_part.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

TEST(VocabularyParts, HaveAllWordsTogether) {
  EXPECT_EQ(rows_of({{"regular", 61}, {"special", 29}}), 90);
}

TEST(VocabularyParts, SmallerThanTheRanksAreRefusedByName) {
  EXPECT_NO_THROW(require_divisible_parts({{"regular", 61}, {"special", 4}}, 4));
  EXPECT_THAT(test::error_of([&] {
                require_divisible_parts({{"regular", 61}, {"special", 3}}, 4);
              }),
              testing::HasSubstr("part \"special\" of the vocabulary has 3 words"));
}

}  // namespace
}  // namespace d9d
