#include "runtime/tokenizer/characters/character_map.hpp"

#include <openssl/evp.h>

#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/characters/grapheme.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {
namespace {

constexpr std::size_t whole_grapheme_bytes = 6;  // from this length on characters are looked up one by one

// Units of the double array (darts-clone): what a 32-bit word says.
bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & (1U << 31 | 0xFF);
}
std::uint32_t offset_of(std::uint32_t unit) {
  return (unit >> 10) << ((unit & 1U << 9) >> 6);
}
std::uint32_t value_of(std::uint32_t unit) {
  return unit & ((1U << 31) - 1);
}

std::string from_base64(std::string_view text, const std::string& where) {
  D9D_REQUIRE(text.size() % 4 == 0 && !text.empty(), "{} is not base64: {} characters", where, text.size());
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  D9D_REQUIRE(length >= 0, "{} is not base64", where);
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(length) - padding);
  return bytes;
}

}  // namespace

CharacterMap CharacterMap::from_json(const JsonSection& section) {
  const JsonSection map = section.at("precompiled_charsmap");
  return CharacterMap(from_base64(map.text(), map.path()), map.path());
}

CharacterMap::CharacterMap(std::string_view bytes, const std::string& where) {
  std::uint32_t array_bytes = 0;
  D9D_REQUIRE(bytes.size() >= sizeof array_bytes, "{} is cut short", where);
  std::memcpy(&array_bytes, bytes.data(), sizeof array_bytes);
  bytes.remove_prefix(sizeof array_bytes);
  D9D_REQUIRE(array_bytes >= 4 && array_bytes % 4 == 0 && array_bytes <= bytes.size(), "{} is damaged",
              where);
  units_.resize(array_bytes / 4);
  std::memcpy(units_.data(), bytes.data(), array_bytes);
  replacements_ = bytes.substr(array_bytes);
  D9D_REQUIRE(first_invalid_utf8(replacements_) == replacements_.size(), "{} is damaged", where);
}

std::optional<std::string_view> CharacterMap::find(std::string_view unit) const {
  std::size_t at = offset_of(units_[0]);
  for (const char c : unit) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    at ^= byte;
    D9D_REQUIRE(at < units_.size(), "normalizer.precompiled_charsmap is damaged");
    if (label_of(units_[at]) != byte) break;
    const bool found = has_leaf(units_[at]);
    at ^= offset_of(units_[at]);
    if (!found) continue;
    D9D_REQUIRE(at < units_.size() && value_of(units_[at]) <= replacements_.size(),
                "normalizer.precompiled_charsmap is damaged");
    const std::string_view rest = std::string_view(replacements_).substr(value_of(units_[at]));
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

void CharacterMap::replace_grapheme(std::string_view grapheme, std::string& out) const {
  if (grapheme.size() < whole_grapheme_bytes) {
    if (const auto replacement = find(grapheme)) {
      out.append(*replacement);
      return;
    }
  }
  for (std::size_t at = 0; at < grapheme.size();) {
    const std::string_view character = grapheme.substr(at, code_point_at(grapheme, at).length);
    out.append(find(character).value_or(character));
    at += character.size();
  }
}

void CharacterMap::apply(std::string_view text, std::string& out) const {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = grapheme_end(text, at);
    replace_grapheme(text.substr(at, end - at), out);
    at = end;
  }
}

}  // namespace d9d
