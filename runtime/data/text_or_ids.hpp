#pragma once
// Texts for people, whether or not there is a tokenizer: without one a text is its token ids with spaces between.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/tokenizer.hpp"

namespace d9d {

class TextOrIds {
 public:
  // `file`: a tokenizer.json or .model; null: ids.
  explicit TextOrIds(const std::optional<std::string>& file);

  // Input error for what is neither a text nor ids.
  std::vector<std::int64_t> ids_of(std::string_view text) const;
  std::string text_of(const std::vector<std::int64_t>& ids) const;

 private:
  std::optional<Tokenizer> tokenizer_;
};

}  // namespace d9d
