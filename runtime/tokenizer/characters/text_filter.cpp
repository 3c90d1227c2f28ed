#include "runtime/tokenizer/characters/text_filter.hpp"

#include <algorithm>
#include <array>

#include "runtime/tokenizer/characters/unicode_class.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {
namespace {

struct CharacterRange {
  char32_t first;
  char32_t last;
};

template <std::size_t n>
bool is_within(const std::array<CharacterRange, n>& ranges, char32_t value) {
  return std::ranges::any_of(
      ranges, [&](const CharacterRange& range) { return value >= range.first && value <= range.last; });
}

// Devlin et al., BERT, 2018 (tokenization: _is_chinese_char); the library begins the sixth block at U+2B920.
constexpr std::array<CharacterRange, 8> ideographs{{{0x4E00, 0x9FFF},
                                                    {0x3400, 0x4DBF},
                                                    {0x20000, 0x2A6DF},
                                                    {0x2A700, 0x2B73F},
                                                    {0x2B740, 0x2B81F},
                                                    {0x2B920, 0x2CEAF},
                                                    {0xF900, 0xFAFF},
                                                    {0x2F800, 0x2FA1F}}};
constexpr std::array<CharacterRange, 6> nmt_removed{
    {{0x1, 0x8}, {0xB, 0xB}, {0xE, 0x1F}, {0x7F, 0x7F}, {0x8F, 0x8F}, {0x9F, 0x9F}}};
constexpr std::array<CharacterRange, 8> nmt_blanks{{{0x9, 0xA},
                                                    {0xC, 0xD},
                                                    {0x1680, 0x1680},
                                                    {0x200B, 0x200F},
                                                    {0x2028, 0x2029},
                                                    {0x2581, 0x2581},
                                                    {0xFEFF, 0xFEFF},
                                                    {0xFFFD, 0xFFFD}}};

bool is_tab_or_line_end(char32_t value) {
  return value == '\t' || value == '\n' || value == '\r';
}

void add_clean(char32_t value, std::string& out) {
  const bool removed = value == 0 || value == 0xFFFD || (!is_tab_or_line_end(value) && is_control(value));
  if (!removed) append_utf8(out, is_white_space(value) ? ' ' : value);
}

void add_parted(char32_t value, std::string& out) {
  const bool parted = is_within(ideographs, value);
  if (parted) out.push_back(' ');
  append_utf8(out, value);
  if (parted) out.push_back(' ');
}

void add_nmt(char32_t value, std::string& out) {
  if (is_within(nmt_removed, value)) return;
  append_utf8(out, is_within(nmt_blanks, value) ? ' ' : value);
}

void add_lower(char32_t value, std::string& out) {
  append_utf8(out, value == 0x130 ? 'i' : lower_case(value));
  // The only character whose lower case is two (SpecialCasing.txt, unconditional mappings).
  if (value == 0x130) append_utf8(out, 0x307);
}

void add(TextFilter filter, char32_t value, std::string& out) {
  switch (filter) {
    case TextFilter::bert_clean:
      return add_clean(value, out);
    case TextFilter::bert_ideographs:
      return add_parted(value, out);
    case TextFilter::marks:
      return is_mark(value) ? void() : append_utf8(out, value);
    case TextFilter::nonspacing_marks:
      return is_nonspacing_mark(value) ? void() : append_utf8(out, value);
    case TextFilter::nmt:
      return add_nmt(value, out);
    case TextFilter::lower_case:
      return add_lower(value, out);
  }
}

}  // namespace

std::size_t apply_filter(TextFilter filter, std::string_view text, std::size_t head, std::string& out) {
  const std::size_t before = out.size();
  std::size_t head_end = before;
  const bool copies = filter != TextFilter::lower_case;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (copies && byte >= 0x20 && byte < 0x7F) {
      out.push_back(text[at++]);
    } else {
      const CodePoint point = code_point_at(text, at);
      add(filter, point.value, out);
      at += point.length;
    }
    if (at <= head) head_end = out.size();
  }
  return head_end - before;
}

}  // namespace d9d
