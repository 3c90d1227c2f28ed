#include "runtime/tokenizer/codec/normalizer.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

struct Normalized {
  std::string text;
  bool begins_at_begin;
  bool operator==(const Normalized&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Normalized& normalized) {
  return out << normalized.text << (normalized.begins_at_begin ? "" : " (begin left out)");
}

Normalized normalized(const char* json, std::string_view text) {
  const nlohmann::json root = nlohmann::json::parse(json);
  NormalizerScratch scratch;
  RegexScratch regex;
  const NormalizedText out = Normalizer::from_json({root, "normalizer"}).apply(text, scratch, regex);
  return {std::string(out.text), out.begins_at_begin};
}

TEST(Normalizer, SaysWhetherCharactersAtTheBeginWereLeftOut) {
  constexpr const char* strip = R"({"type": "Strip", "strip_left": true, "strip_right": true})";
  constexpr const char* accents = R"({"type": "StripAccents"})";

  EXPECT_EQ(normalized(strip, "a "), (Normalized{"a", true}));
  EXPECT_EQ(normalized(strip, " a "), (Normalized{"a", false}));
  EXPECT_EQ(normalized(accents, "e\u0301a"), (Normalized{"ea", true}));
  EXPECT_EQ(normalized(accents, "\u0301a"), (Normalized{"a", false}));
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "_"})", "a"), (Normalized{"_a", true}));
}

// 16 of 1 eight times would be 4 GB of one byte.
TEST(Normalizer, RefusesToMakeMuchMoreOfATextThanItIs) {
  nlohmann::json steps = nlohmann::json::array();
  for (int i = 0; i < 8; ++i) {
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(16, 'a')}});
  }
  const std::string json = nlohmann::json{{"type", "Sequence"}, {"normalizers", steps}}.dump();

  EXPECT_THAT(test::error_of([&] { normalized(json.c_str(), "a"); }, ErrorKind::input),
              testing::HasSubstr("makes more than 256 bytes of each byte of a text of 1"));
}

TEST(Normalizer, KnowsWhatAFirstCharacterWasTakenApartInto) {
  constexpr const char* apart =
      R"({"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}]})";

  EXPECT_EQ(normalized(apart, "\u0E33"), (Normalized{"\u0E32", true})) << "a mark and a letter";
  EXPECT_EQ(normalized(apart, "\u0E4D\u0E32"), (Normalized{"\u0E32", false}));
}

TEST(Normalizer, TakesAReplacementForMadeOfTheLastCharacterReplaced) {
  const auto replaced = [](const std::string& pattern, const std::string& content, const char* text) {
    const nlohmann::json json = {
        {"type", "Replace"}, {"pattern", {{"Regex", pattern}}}, {"content", content}};
    return normalized(json.dump().c_str(), text);
  };

  EXPECT_EQ(replaced("a", "x", "ab"), (Normalized{"xb", true}));
  EXPECT_EQ(replaced("aa", "x", "aab"), (Normalized{"xb", false}));
  EXPECT_EQ(replaced("a", "", "ab"), (Normalized{"b", false}));
  EXPECT_EQ(replaced("b", "", "ab"), (Normalized{"a", true}));
}

TEST(Normalizer, OfBertTakesAccentsAwayWithCaseUnlessTold) {
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer"})", "\tÉa\x01漢b").text, " ea 漢 b");
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "lowercase": false})", "Éa").text, "Éa");
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "lowercase": true, "strip_accents": false})", "Éa").text,
            "éa");
  EXPECT_EQ(
      normalized(R"({"type": "BertNormalizer", "strip_accents": null, "clean_text": false})", "\tÉ").text,
      "\te");
}

TEST(Normalizer, RefusesAKindItDoesNotKnow) {
  const nlohmann::json root = nlohmann::json::parse(R"({"type": "ByteLevel"})");

  EXPECT_THAT(test::error_of(
                  [&] {
                    Normalizer::from_json({root, "normalizer"});
                  },
                  ErrorKind::input),
              testing::HasSubstr("normalizer: the normalizer ByteLevel is not supported"));
}

}  // namespace
}  // namespace d9d
