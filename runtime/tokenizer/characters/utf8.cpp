#include "runtime/tokenizer/characters/utf8.hpp"

#include <cstring>

namespace d9d {
namespace {

struct Form {
  std::size_t length = 0;  // bytes of a complete sequence; 0: no sequence starts with this byte
  unsigned char second_low = 0x80;
  unsigned char second_high = 0xBF;
};

Form form_of(unsigned char lead) {
  if (lead < 0x80) return {1};
  if (lead < 0xC2) return {0};
  if (lead < 0xE0) return {2};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

// Bytes of the longest well-formed beginning at `at`; `complete` says whether it is a whole sequence.
std::size_t valid_part(std::string_view text, std::size_t at, bool& complete) {
  const Form form = form_of(static_cast<unsigned char>(text[at]));
  complete = false;
  if (form.length == 0) return 0;
  std::size_t length = 1;
  while (length < form.length && at + length < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at + length]);
    const unsigned char low = length == 1 ? form.second_low : 0x80;
    const unsigned char high = length == 1 ? form.second_high : 0xBF;
    if (byte < low || byte > high) return length;
    ++length;
  }
  complete = length == form.length;
  return length;
}

}  // namespace

std::size_t first_non_ascii(std::string_view text, std::size_t from) {
  std::size_t at = from;
  while (at + 8 <= text.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080ULL) != 0) break;
    at += 8;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t at = first_non_ascii(text);
  while (at < text.size()) {
    bool complete = false;
    const std::size_t length = valid_part(text, at, complete);
    if (!complete) return at;
    at += length;
    if (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) at = first_non_ascii(text, at);
  }
  return text.size();
}

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

CodePoint code_point_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return code_point_at(text, at);
}

void append_utf8(std::string& out, char32_t value) {
  const auto push = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    push(value);
  } else if (value < 0x800) {
    push(0xC0 | value >> 6);
    push(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    push(0xE0 | value >> 12);
    push(0x80 | (value >> 6 & 0x3F));
    push(0x80 | (value & 0x3F));
  } else {
    push(0xF0 | value >> 18);
    push(0x80 | (value >> 12 & 0x3F));
    push(0x80 | (value >> 6 & 0x3F));
    push(0x80 | (value & 0x3F));
  }
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  std::size_t at = 0;
  while (at < bytes.size()) {
    bool complete = false;
    const std::size_t length = valid_part(bytes, at, complete);
    if (complete) {
      out.append(bytes.substr(at, length));
    } else {
      out.append("\xEF\xBF\xBD");
    }
    at += length > 0 ? length : 1;
  }
  return out;
}

}  // namespace d9d
