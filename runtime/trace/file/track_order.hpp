#pragma once
// Orders the tracks of a process in a viewer: the most important ones are on top.

#include <string_view>

namespace d9d::trace {

// A larger number is further down. Tracks of one kind are ordered by the number in their name, and
// the lanes of a track are consecutive.
int track_order(std::string_view name, int lane);

}  // namespace d9d::trace
