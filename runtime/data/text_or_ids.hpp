#pragma once
// Texts for people, whether or not there is a tokenizer: without one a text is its token ids with spaces between.

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

  // As Tokenizer::encode_prompt(). Input error for what is neither a text nor ids.
  std::vector<std::int64_t> ids_of(std::string_view text) const;
  // What `ids` add to the text of `prompt` (Tokenizer::decode_behind()).
  std::string text_behind(const std::vector<std::int64_t>& prompt,
                          const std::vector<std::int64_t>& ids) const;

 private:
  std::optional<Tokenizer> tokenizer_;
};

}  // namespace d9d
