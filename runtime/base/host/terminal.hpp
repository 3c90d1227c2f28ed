#pragma once
// What this process prints to.

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace d9d {

// A terminal that understands escapes: lines may be taken back and be coloured.
inline bool is_screen(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace d9d
