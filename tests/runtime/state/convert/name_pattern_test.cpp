#include "runtime/state/convert/name_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(NamePattern, ReadsWhatStandsBetweenDotsAndFillsItInElsewhere) {
  const NamePattern from("h.{layer}.mlp.{part*}"), to("model.layers.{layer}.{part}");

  const auto captures = from.match("h.12.mlp.up.weight");

  ASSERT_TRUE(captures);
  EXPECT_THAT(*captures, ElementsAre(Pair("layer", "12"), Pair("part", "up.weight")));
  EXPECT_EQ(to.fill(*captures), "model.layers.12.up.weight");
  EXPECT_FALSE(from.match("h.1.2.mlp.up")) << "{layer} has no dots";
  EXPECT_FALSE(from.match("xh.1.mlp.up"));
  EXPECT_THAT(from.placeholders(), ElementsAre("layer", "part"));
}

TEST(NamePattern, TakesDotsAndBracketsOfNamesAsTheyAre) {
  EXPECT_TRUE(NamePattern("a.b[0]+c").match("a.b[0]+c"));
  EXPECT_FALSE(NamePattern("a.b").match("axb"));
  EXPECT_TRUE(NamePattern("*").match("any.thing"));
  EXPECT_TRUE(NamePattern("*.weight").match("a.b.weight"));
  EXPECT_FALSE(NamePattern("*.weight").match("a.bias"));
}

TEST(NamePattern, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) { return error_of([&] { NamePattern{text}; }); };
  EXPECT_THAT(error(""), HasSubstr("is empty"));
  EXPECT_THAT(error("a.{layer"), HasSubstr("a brace has no partner"));
  EXPECT_THAT(error("a.layer}"), HasSubstr("a brace has no partner"));
  EXPECT_THAT(error("a.{}"), HasSubstr("a name in braces"));
  EXPECT_THAT(error("{a}.{a}"), HasSubstr("{a} stands in it twice"));
  EXPECT_THAT(error_of([] { NamePattern("a.*").fill({}); }), HasSubstr("`*` has no name"));
  EXPECT_THAT(error_of([] { NamePattern("a.{b}").fill({}); }), HasSubstr("nothing says what {b} is"));
}

}  // namespace
}  // namespace d9d
