// Normalizer::apply_traced.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/tokenizer/codec/normalizer.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Traced {
  std::string text;
  std::vector<std::uint32_t> from;
};

Traced traced(const char* json, std::string_view text) {
  const nlohmann::json root = nlohmann::json::parse(json);
  NormalizerScratch scratch;
  RegexScratch regex;
  Traced out;
  out.text = Normalizer::from_json({root, "normalizer"}).apply_traced(text, scratch, regex, out.from).text;
  return out;
}

TEST(NormalizerTrace, SaysOfWhichByteEachByteWasMade) {
  constexpr const char* llama =
      R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "_"},
          {"type": "Replace", "pattern": {"String": " "}, "content": "__"}]})";

  const Traced made = traced(llama, "a b");

  EXPECT_EQ(made.text, "_a__b");
  EXPECT_THAT(made.from, ElementsAre(0, 0, 1, 1, 2));
  EXPECT_THAT(traced(R"({"type": "Strip", "strip_left": true, "strip_right": true})", " ab ").from,
              ElementsAre(1, 2));
  EXPECT_THAT(traced(R"({"type": "Lowercase"})", "A\u00C9b").from, ElementsAre(0, 1, 1, 3));
}

TEST(NormalizerTrace, KnowsTheCharactersThatWereJoinedOrTakenApart) {
  const Traced joined = traced(R"({"type": "NFC"})", "e\u0301b");
  const Traced apart = traced(R"({"type": "NFD"})", "\u00E9b");

  EXPECT_EQ(joined.text, "\u00E9b");
  EXPECT_THAT(joined.from, ElementsAre(0, 0, 3));
  EXPECT_EQ(apart.text, "e\u0301b");
  EXPECT_THAT(apart.from, ElementsAre(0, 0, 0, 2));
}

TEST(NormalizerTrace, IsEmptyWhereNothingChanges) {
  EXPECT_THAT(traced(R"({"type": "NFC"})", "ab").from, IsEmpty());
}

}  // namespace
}  // namespace d9d
