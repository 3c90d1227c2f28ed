#include "runtime/tokenizer/text_ends.hpp"

#include <algorithm>

#include "runtime/tokenizer/codec/token_settings.hpp"

namespace d9d {

TokensAround tokens_around_text(const Tokenizer& tokenizer) {
  constexpr const char* text = "a";
  const auto bare = tokenizer.encode(text, false), whole = tokenizer.encode(text, true);
  const auto found = std::ranges::search(whole, bare);
  if (bare.empty() || found.empty()) return {};
  TokensAround tokens;
  const auto texts = [&](auto begin, auto end, std::vector<std::string>& out) {
    for (auto id = begin; id != end; ++id) out.push_back(tokenizer.token_text(*id).value_or(""));
  };
  texts(whole.begin(), found.begin(), tokens.before);
  texts(found.end(), whole.end(), tokens.after);
  return tokens;
}

std::optional<std::int64_t> eos_id_of(const Tokenizer& tokenizer, const std::filesystem::path& file) {
  const auto name = token_settings_beside(file).eos;
  return name ? tokenizer.token_id(*name) : std::nullopt;
}

}  // namespace d9d
