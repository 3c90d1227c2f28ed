#pragma once
// Texts after which a generated one ends. A special token ends it as that token; all others wherever their characters
// stand, whichever tokens these are of: "\n\n" in the token ".\n\n". Any number of threads.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

class StopTexts {
 public:
  // Input error for an empty text, which names `given_by`.
  StopTexts(Tokenizer tokenizer, const std::vector<std::string>& texts, std::string_view given_by);

  const std::vector<std::int64_t>& tokens() const { return tokens_; }
  bool has_texts() const { return !texts_.empty(); }
  // Whether one of the others stands at the end of a text of these tokens.
  bool end(std::span<const std::int64_t> text) const;
  // Without what its last token has after a stop.
  std::string cut(std::string text) const;

 private:
  const Tokenizer tokenizer_;
  std::vector<std::int64_t> tokens_;
  std::vector<std::string> texts_;
};

}  // namespace d9d
