#include "runtime/tokenizer/characters/grapheme.hpp"

#include <utf8proc.h>

#include "runtime/tokenizer/characters/utf8.hpp"

namespace d9d {

std::size_t grapheme_end(std::string_view text, std::size_t at) {
  CodePoint before = code_point_at(text, at);
  std::size_t end = at + before.length;
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    const CodePoint next = code_point_at(text, end);
    // Of ASCII only CR and LF stay together; it is most of the text, so it is not looked up.
    const bool ascii = before.value < 0x80 && next.value < 0x80;
    const bool parted =
        ascii ? before.value != '\r' || next.value != '\n'
              : utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before.value),
                                                 static_cast<utf8proc_int32_t>(next.value), &state);
    if (parted) break;
    end += next.length;
    before = next;
  }
  return end;
}

}  // namespace d9d
