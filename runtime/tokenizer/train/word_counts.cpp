#include "runtime/tokenizer/train/word_counts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {

nlohmann::ordered_json byte_level(bool add_prefix_space) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", true}};
}

WordCounts::WordCounts()
    : words_(
          PreTokenizer::from_json({nlohmann::json(byte_level(false)), "the words of a trained tokenizer"})) {}

void WordCounts::add(std::string_view text) {
  const std::size_t bad = first_invalid_utf8(text);
  D9D_REQUIRE(bad == text.size(), "byte {} of the text is no UTF-8; convert it, e.g. with iconv", bad);
  bytes_ += text.size();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    for (const std::string_view word :
         words_.split(text.substr(begin, end - begin), false, scratch_, regex_)) {
      if (const auto known = counts_.find(word); known != counts_.end()) {
        ++known->second;
      } else {
        counts_.emplace(word, 1);
      }
    }
    begin = end;
  }
}

}  // namespace d9d
