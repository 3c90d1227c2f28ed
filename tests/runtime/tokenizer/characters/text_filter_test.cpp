#include "runtime/tokenizer/characters/text_filter.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/tokenizer/characters/utf8.hpp"
#include "runtime/tokenizer/codec/normalizer.hpp"

namespace d9d {
namespace {

// Of every character, whether one of the ranges has it.
std::vector<bool> characters_in_ranges(const nlohmann::json& ranges) {
  std::vector<bool> listed(0x110000);
  for (const auto& range : ranges) {
    for (auto value = range[0].get<std::size_t>(); value <= range[1].get<std::size_t>(); ++value) {
      listed[value] = true;
    }
  }
  return listed;
}

// tests/golden/tokenizer/make_kinds.py tried every character with the library: which ones are taken away
// between two letters, which ones change.
TEST(TextFilter, DoesToEveryCharacterWhatTheLibraryDoes) {
  std::ifstream file(D9D_SOURCE_DIR "/tests/golden/tokenizer/classes.json");
  const nlohmann::json kinds = nlohmann::json::parse(file);
  NormalizerScratch scratch;
  RegexScratch regex;

  ASSERT_EQ(kinds.size(), 4u);
  for (const auto& [name, kind] : kinds.items()) {
    const Normalizer normalizer = Normalizer::from_json({kind["section"], name});
    const std::vector<bool> gone = characters_in_ranges(kind["removed"]);
    const std::vector<bool> other = characters_in_ranges(kind["changed"]);
    for (char32_t value = 0; value < 0x110000; ++value) {
      if (value >= 0xD800 && value < 0xE000) continue;
      std::string text = "a";
      append_utf8(text, value);
      text += "b";
      const auto found = normalizer.apply(text, scratch, regex).text;
      const bool removed = found == "ab";
      ASSERT_EQ(removed, gone[value]) << name << " " << static_cast<std::uint32_t>(value);
      ASSERT_EQ(!removed && found != text, other[value]) << name << " " << static_cast<std::uint32_t>(value);
    }
  }
}

TEST(TextFilter, LowersLettersOneOfThemToTwo) {
  std::string out;
  EXPECT_EQ(apply_filter(TextFilter::lower_case, "AÉ\u0130Σ\U00010D50", 3, out), 3u);

  EXPECT_EQ(out, "aéi\u0307σ\U00010D70");
}

}  // namespace
}  // namespace d9d
