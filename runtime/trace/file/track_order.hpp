#pragma once
// The order of a process's tracks in a viewer: what a reader looks for first stands on top.

#include <string_view>

namespace d9d::trace {

// Larger is further down. Tracks of one kind are ordered by the number in their name, a track's lanes follow it.
int track_order(std::string_view name, int lane);

}  // namespace d9d::trace
