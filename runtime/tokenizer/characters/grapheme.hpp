#pragma once

#include <cstddef>
#include <string_view>

namespace d9d {

// Returns the end of the grapheme (extended grapheme cluster, Unicode annex 29) that begins at
// `at`. `text` is well-formed UTF-8, `at` is below its size.
std::size_t grapheme_end(std::string_view text, std::size_t at);

}  // namespace d9d
