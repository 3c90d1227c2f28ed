#include "runtime/tokenizer/codec/added_tokens.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/unicode_class.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {

std::vector<AddedToken> added_tokens_from_json(const JsonSection& section) {
  std::vector<AddedToken> tokens;
  for (const JsonSection& item : section.items()) {
    AddedToken token;
    token.content = item.text("content");
    const std::int64_t id = item.at("id").integer();
    D9D_REQUIRE(id >= 0 && id < token_ids_max, "{}.id is {}, expected 0 to {}", item.path(), id,
                token_ids_max - 1);
    token.id = static_cast<std::int32_t>(id);
    token.special = item.flag("special", false);
    token.normalized = item.flag("normalized", !token.special);
    token.single_word = item.flag("single_word", false);
    token.lstrip = item.flag("lstrip", false);
    token.rstrip = item.flag("rstrip", false);
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  return tokens;
}

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& texts)
    : tokens_(std::move(tokens)), nodes_(1) {
  D9D_CHECK(tokens_.size() == texts.size(), "{} added tokens, {} texts", tokens_.size(), texts.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (texts[i].empty()) continue;
    starts_[static_cast<unsigned char>(texts[i][0])] = true;
    std::int32_t node = 0;
    for (const char byte : texts[i]) {
      const auto& children = nodes_[node].children;
      const auto found = std::ranges::find(children, byte, &std::pair<char, std::int32_t>::first);
      if (found != children.end()) {
        node = found->second;
        continue;
      }
      const auto made = static_cast<std::int32_t>(nodes_.size());
      nodes_[node].children.emplace_back(byte, made);
      nodes_.emplace_back();
      node = made;
    }
    nodes_[node].token = static_cast<std::int32_t>(i);
    if (tokens_[i].single_word && !word_character_) {
      word_character_ = Regex::from_pattern(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}])");
    }
  }
}

AddedTokenFinder::Found AddedTokenFinder::longest_at(std::string_view text, std::size_t at) const {
  Found best;
  std::int32_t node = 0;
  for (std::size_t end = at; end < text.size(); ++end) {
    const auto& children = nodes_[node].children;
    const auto found = std::ranges::find(children, text[end], &std::pair<char, std::int32_t>::first);
    if (found == children.end()) break;
    node = found->second;
    if (nodes_[node].token >= 0) best = {end + 1, nodes_[node].token};
  }
  return best;
}

bool AddedTokenFinder::stands_alone(std::string_view text, std::size_t begin, std::size_t end,
                                    RegexScratch& regex) const {
  const auto is_word = [&](std::size_t at, std::size_t length) {
    return word_character_->find(text.substr(at, length), 0, regex).has_value();
  };
  if (begin > 0) {
    const std::size_t length = code_point_before(text, begin).length;
    if (is_word(begin - length, length)) return false;
  }
  return end == text.size() || !is_word(end, code_point_at(text, end).length);
}

void AddedTokenFinder::split(std::string_view text, std::vector<Part>& parts, RegexScratch& regex) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size() && nodes_.size() > 1;) {
    const Found found = starts_[static_cast<unsigned char>(text[at])] ? longest_at(text, at) : Found{};
    if (found.token < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[found.token];
    std::size_t begin = at;
    std::size_t end = found.end;
    at = found.end;
    if (token.single_word && !stands_alone(text, begin, end, regex)) continue;
    if (token.lstrip) begin = std::max(begin - trailing_white_space(text.substr(0, begin)), done);
    if (token.rstrip) end += leading_white_space(text.substr(end));
    if (done < begin) parts.push_back({text.substr(done, begin - done), std::nullopt});
    // A token whose whole text the one before has stripped is none.
    if (begin < end) parts.push_back({text.substr(begin, end - begin), token.id});
    done = end;
  }
  if (done < text.size() || text.empty()) parts.push_back({text.substr(done), std::nullopt});
}

}  // namespace d9d
