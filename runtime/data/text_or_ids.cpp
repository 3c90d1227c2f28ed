#include "runtime/data/text_or_ids.hpp"

#include <fmt/ranges.h>

#include <sstream>

#include "runtime/base/error.hpp"

namespace d9d {

TextOrIds::TextOrIds(const std::optional<std::string>& file) {
  if (file) tokenizer_ = Tokenizer::from_file(*file);
}

std::vector<std::int64_t> TextOrIds::ids_of(std::string_view text) const {
  if (tokenizer_) {
    std::vector<std::int32_t> ids;
    tokenizer_->encode_prompt(text, *tokenizer_->make_scratch(), ids);
    return {ids.begin(), ids.end()};
  }
  std::vector<std::int64_t> ids;
  std::istringstream words{std::string(text)};
  for (std::int64_t id = 0; words >> id;) ids.push_back(id);
  D9D_REQUIRE(words.eof(),
              "\"{}\" is no list of token ids; give ids with spaces between, or name a tokenizer", text);
  return ids;
}

std::string TextOrIds::text_behind(const std::vector<std::int64_t>& prompt,
                                   const std::vector<std::int64_t>& ids) const {
  if (!tokenizer_) return fmt::format("{}", fmt::join(ids, " "));
  return tokenizer_->decode_behind(std::vector<std::int32_t>(prompt.begin(), prompt.end()),
                                   std::vector<std::int32_t>(ids.begin(), ids.end()));
}

}  // namespace d9d
