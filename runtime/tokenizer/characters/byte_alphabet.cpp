#include "runtime/tokenizer/characters/byte_alphabet.hpp"

#include <array>

#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {
namespace {

constexpr int num_characters = 256 + 68;

constexpr bool prints(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

struct Tables {
  std::array<char32_t, 256> character{};
  std::array<std::int16_t, num_characters> byte{};
};

constexpr Tables make_tables() {
  Tables tables;
  tables.byte.fill(-1);
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const int character = prints(byte) ? byte : next++;
    tables.character[byte] = static_cast<char32_t>(character);
    tables.byte[character] = static_cast<std::int16_t>(byte);
  }
  return tables;
}

constexpr Tables byte_tables = make_tables();

}  // namespace

char32_t byte_character(std::uint8_t byte) {
  return byte_tables.character[byte];
}

std::optional<std::string> bytes_of_token(std::string_view token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint point = code_point_at(token, at);
    if (point.value >= num_characters || byte_tables.byte[point.value] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte_tables.byte[point.value]));
    at += point.length;
  }
  return bytes;
}

}  // namespace d9d
