#pragma once
// The streams of a rank's device, by their use. `compute_beside`: of the stages that compute beside those on `compute`
// (pipeline/lane/stage_streams.hpp).

#include <array>
#include <cstddef>

namespace d9d {

enum class StreamRole { compute, communicate, copy_in, copy_out, compute_beside };

// In the order of the enumerators.
inline constexpr std::array stream_roles{StreamRole::compute, StreamRole::communicate, StreamRole::copy_in,
                                         StreamRole::copy_out, StreamRole::compute_beside};
constexpr const char* name_of(StreamRole role) {
  constexpr std::array names{"compute", "communicate", "copy_in", "copy_out", "compute_beside"};
  return names[static_cast<std::size_t>(role)];
}
// Whether the actions of stages run there.
constexpr bool computes(StreamRole role) {
  return role == StreamRole::compute || role == StreamRole::compute_beside;
}

}  // namespace d9d
