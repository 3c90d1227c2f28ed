#include "runtime/data/config/data_parts.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(DataParts, AreTheSourceItselfOrThoseOfAMixture) {
  const auto one = parts_of(TextDataConfig{{.files = {"a"}}, {}});
  const auto two =
      parts_of(MixtureDataConfig{{{1, TokensDataConfig{.tokens = "t"}}, {2, SyntheticDataConfig{}}}});

  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].path, "data");
  EXPECT_EQ(std::get<TextDataConfig>(one[0].source).files.front(), "a");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].path, "data.parts.0");
  EXPECT_EQ(std::get<TokensDataConfig>(two[0].source).tokens, "t");
  EXPECT_EQ(two[1].path, "data.parts.1");
}

}  // namespace
}  // namespace d9d
