#include "runtime/tokenizer/characters/regex_dialect.hpp"

#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/regex.hpp"

namespace d9d {
namespace {

std::vector<std::string> matches(const char* pattern, std::string_view text) {
  std::vector<std::string> out;
  RegexScratch scratch;
  for_each_match(Regex::from_pattern(pattern), text, scratch,
                 [&](TextSpan span) { out.emplace_back(text.substr(span.begin, span.end - span.begin)); });
  return out;
}

using Matches = std::vector<std::string>;

TEST(RegexDialect, LeavesAloneWhatBothEnginesReadTheSame) {
  for (const char* pattern :
       {"", "abc|d", R"((?i:'s|'t))", R"([^\r\n\p{L}\p{N}]?\p{L}+)", R"(\p{N}{1,3})", R"([\[\]\\])",
        R"((a)(?<=a)(?<!b)(?=c)(?!d)(?>e)x*+y?+z++)", R"(\x41\x{1F600}\p{^L})"}) {
    EXPECT_EQ(to_pcre2_dialect(pattern), pattern);
  }
}

TEST(RegexDialect, RewritesWhatTheyReadDifferently) {
  EXPECT_EQ(to_pcre2_dialect(R"(\s+(?!\S)|[^\s\d])"),
            R"(\p{White_Space}+(?!\P{White_Space})|[^\p{White_Space}\p{Nd}])");
  EXPECT_EQ(to_pcre2_dialect(R"(\p{Han}\P{^Greek}\p{Lu})"), R"(\p{sc:Han}\P{^sc:Greek}\p{Lu})");
  EXPECT_EQ(to_pcre2_dialect(R"(^a$)"), "(?m:^)a(?m:$)");
  EXPECT_EQ(to_pcre2_dialect(R"(a{,3}\v\u00e9)"), R"(a{0,3}\x0b\x{00e9})");
}

TEST(RegexDialect, RefusesByNameWhatItCannotRewrite) {
  for (const char* pattern : {R"(\bword)",  R"(\h)", R"(\1)",   R"(\k<a>)", "[[:alpha:]]", "[a&&b]", "[]a]",
                              "[a",         "a{2}+", "a{2}?",   "a{b}",     "a{2",         "x(?i)y", "(?m:a)",
                              "(?<name>a)", R"(\p)", R"(\xE9)", "\\",       R"([\W])",     R"(\X)"}) {
    EXPECT_THROW(to_pcre2_dialect(pattern), Error) << pattern;
  }
}

TEST(RegexDialect, KnowsTheWhiteSpaceOfUnicodeAndNoOther) {
  EXPECT_EQ(matches(R"(\s)", "a\u0085\u00a0\u2003\u3000\v").size(), 5u);
  EXPECT_EQ(matches(R"(\s)", "\u180e\u200b\ufeff\x1c").size(), 0u);
}

TEST(RegexDialect, KnowsTheWordCharactersOfOniguruma) {
  EXPECT_EQ(matches(R"(\w)", "a\u0301_\u00b2\u00bd\u2167\u0663").size(), 7u);
  EXPECT_EQ(matches(R"(\w)", "\u2074\u200d\u00b4 -").size(), 0u);
  EXPECT_EQ(matches(R"(\p{Han})", "\u4e00\u3001\u30fb").size(), 1u);
}

TEST(Regex, FindsMatchesFromLeftToRight) {
  EXPECT_EQ(matches("a|bc", "xabcbca"), (Matches{"a", "bc", "bc", "a"}));
  EXPECT_EQ(matches("x*", "axxb"), (Matches{"", "xx", ""}));
  EXPECT_EQ(matches("^.", "ab\ncd"), (Matches{"a", "c"}));
  EXPECT_EQ(matches("(?<=é).", "éa éb"), (Matches{"a", "b"}));
}

TEST(Regex, MatchesALiteralAsItStands) {
  RegexScratch scratch;

  EXPECT_EQ(Regex::from_literal(".*").find("a.b.*", 0, scratch), (TextSpan{3, 5}));
}

TEST(Regex, MatchesALongTextThatExhaustsTheStackOfTheCompiledCode) {
  const std::string text(300000, 'a');

  EXPECT_EQ(matches("(?:(a)|b)*", text), (Matches{text}));
}

}  // namespace
}  // namespace d9d
