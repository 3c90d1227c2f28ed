#pragma once
// Shows texts to people with or without a tokenizer. Without one a text is its token
// ids, separated by spaces.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

class TextOrIds {
 public:
  // `file`: a tokenizer.json or .model; null: ids.
  explicit TextOrIds(const std::optional<std::string>& file);

  // As Tokenizer::encode_prompt(). Without a tokenizer: input error for a text that is
  // no list of ids.
  std::vector<std::int64_t> ids_of(std::string_view text) const;
  // Returns the text that `ids` add to the text of `prompt` (Tokenizer::decode_behind()).
  std::string text_behind(const std::vector<std::int64_t>& prompt,
                          const std::vector<std::int64_t>& ids) const;

 private:
  std::optional<Tokenizer> tokenizer_;
};

}  // namespace d9d
