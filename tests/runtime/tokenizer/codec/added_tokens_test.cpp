#include "runtime/tokenizer/codec/added_tokens.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace d9d {
namespace {

using Texts = std::vector<std::string>;

Texts parts_of(const AddedToken& token, std::string_view text) {
  const AddedTokenFinder finder({token}, {token.content});
  std::vector<AddedTokenFinder::Part> parts;
  RegexScratch regex;
  finder.split(text, parts, regex);
  Texts out;
  for (const auto& part : parts) out.push_back(fmt::format("{}{}", part.id ? "*" : "", part.text));
  return out;
}

TEST(AddedTokens, StripTheirNeighboursOnlyWhereAsked) {
  EXPECT_EQ(parts_of({.content = "<m>", .id = 7, .lstrip = true}, "a <m> b"), (Texts{"a", "* <m>", " b"}));
  EXPECT_EQ(parts_of({.content = "<m>", .id = 7, .rstrip = true}, "a <m> b"), (Texts{"a ", "*<m> ", "b"}));
}

TEST(AddedTokens, OneThatTheTokenBeforeHasStrippedIsNone) {
  const AddedToken space{.content = " ", .id = 7, .lstrip = true, .rstrip = true};

  EXPECT_EQ(parts_of(space, "a \n  b"), (Texts{"a", "* \n  ", "b"}));
}

}  // namespace
}  // namespace d9d
