#pragma once
// Draws a curve with characters, for terminals.

#include <span>
#include <string>

namespace d9d {

// Returns `height` lines of at most `width` columns with the scale of the values on the left. A column
// shows the mean of its values. A last line has the numbers of the first and the last value, counted from
// 0: "step 0 ... 99".
std::string plot(std::span<const double> values, const std::string& count_of, int width = 72,
                 int height = 12);

}  // namespace d9d
