#pragma once
// `added_tokens` of tokenizer.json: texts that are one token wherever they stand. They are found
// before the model sees the text. Immutable.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/characters/regex.hpp"
#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool special = false;      // left out when decoding without special tokens
  bool normalized = false;   // its normalised text is looked for in normalised text
  bool single_word = false;  // only between characters that are not of words
  bool lstrip = false;       // includes the white space before it
  bool rstrip = false;       // includes the white space after it
};

std::vector<AddedToken> added_tokens_from_json(const JsonSection& section);

// Finds the tokens of one set: the leftmost match first, and of matches with the
// same begin the longest.
class AddedTokenFinder {
 public:
  struct Part {
    std::string_view text;
    std::optional<std::int32_t> id;  // nothing: text between tokens
  };

  // `texts[i]` is the text to look for when `tokens[i]` is wanted.
  AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& texts);

  // Splits text into tokens and the text between them; parts without id are not empty, unless `text` is.
  void split(std::string_view text, std::vector<Part>& parts, RegexScratch& regex) const;

 private:
  struct Node {
    std::int32_t token = -1;
    std::vector<std::pair<char, std::int32_t>> children;
  };
  struct Found {
    std::size_t end = 0;
    std::int32_t token = -1;  // -1: none
  };
  Found longest_at(std::string_view text, std::size_t at) const;
  bool stands_alone(std::string_view text, std::size_t begin, std::size_t end, RegexScratch& regex) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
  std::array<bool, 256> starts_{};
  std::optional<Regex> word_character_;  // only where a token asks for it
};

}  // namespace d9d
