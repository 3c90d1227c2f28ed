#include "runtime/text/stop_texts.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::size_t tokens_beside = 16;  // a stop may begin inside one, and tokens may have no text

}  // namespace

StopTexts::StopTexts(Tokenizer tokenizer, const std::vector<std::string>& texts, std::string_view given_by)
    : tokenizer_(std::move(tokenizer)) {
  for (const std::string& text : texts) {
    D9D_REQUIRE(!text.empty(), "{} is empty; name a token or a text", given_by);
    const auto ids = tokenizer_.encode(text, false);
    // A special token has no text. The text of any other one may stand in a longer token.
    const bool is_token = ids.size() == 1 && tokenizer_.decode(ids).find(text) == std::string::npos;
    if (is_token) tokens_.push_back(ids.front());
    if (!is_token) texts_.push_back(text);
  }
}

bool StopTexts::end(std::span<const std::int64_t> text) const {
  return std::ranges::any_of(texts_, [&](const std::string& stop) {
    const auto last = text.last(std::min(text.size(), stop.size() + tokens_beside));
    const std::vector<std::int32_t> ids(last.begin(), last.end());
    return tokenizer_.decode(ids).find(stop) != std::string::npos;
  });
}

std::string StopTexts::cut(std::string text) const {
  std::size_t end = text.size();
  for (const std::string& stop : texts_) {
    const std::size_t found = text.find(stop);
    if (found != std::string::npos) end = std::min(end, found + stop.size());
  }
  text.resize(end);
  return text;
}

}  // namespace d9d
