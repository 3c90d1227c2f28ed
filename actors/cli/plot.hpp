#pragma once
// A curve as characters, for terminals.

#include <span>
#include <string>

namespace d9d {

// `height` lines of at most `width` columns with the values'
// scale on the left. A column shows the mean of its values.
std::string plot(std::span<const double> values, int width = 72, int height = 12);

}  // namespace d9d
