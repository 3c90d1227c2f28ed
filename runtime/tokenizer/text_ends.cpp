#include "runtime/tokenizer/text_ends.hpp"

#include <algorithm>

#include "runtime/tokenizer/codec/token_settings.hpp"

namespace d9d {

std::vector<std::string> begin_tokens_of(const Tokenizer& tokenizer) {
  constexpr const char* text = "a";
  const auto bare = tokenizer.encode(text, false), whole = tokenizer.encode(text, true);
  const auto found = std::ranges::search(whole, bare);
  if (bare.empty() || found.empty()) return {};
  std::vector<std::string> tokens;
  for (auto id = whole.begin(); id != found.begin(); ++id)
    tokens.push_back(tokenizer.token_text(*id).value_or(""));
  return tokens;
}

std::optional<std::int64_t> eos_id_of(const Tokenizer& tokenizer, const std::filesystem::path& file) {
  const auto name = token_settings_beside(file).eos;
  return name ? tokenizer.token_id(*name) : std::nullopt;
}

}  // namespace d9d
