#pragma once
// Asks what kind of output this process prints to.

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace d9d {

// Whether the descriptor is a terminal that understands escapes, so that lines may
// be replaced and coloured.
inline bool is_screen(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace d9d
