#pragma once
// The mark that some editors write in front of a text in UTF-8.

#include <string>
#include <string_view>

#include "runtime/base/error.hpp"

namespace d9d {

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// Input error where a JSON text of a Hugging Face folder begins with the mark: Python's json, and so transformers and
// peft, reads no such file, and an export would carry it on. `where`: the file.
inline void require_no_byte_order_mark(std::string_view text, const std::string& where) {
  D9D_REQUIRE(!text.starts_with(byte_order_mark),
              "{} begins with a byte order mark (the bytes EF BB BF), and transformers reads no such file; "
              "save it as UTF-8 without the mark",
              where);
}

}  // namespace d9d
