#pragma once
// The streams of a rank's device, by their use.

#include <array>
#include <cstddef>

namespace d9d {

enum class StreamRole { compute, communicate, copy_in, copy_out };

// In the order of the enumerators.
inline constexpr std::array stream_roles{StreamRole::compute, StreamRole::communicate, StreamRole::copy_in,
                                         StreamRole::copy_out};
constexpr const char* name_of(StreamRole role) {
  constexpr std::array names{"compute", "communicate", "copy_in", "copy_out"};
  return names[static_cast<std::size_t>(role)];
}

}  // namespace d9d
