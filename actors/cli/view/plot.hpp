#pragma once
// A curve as characters, for terminals.

#include <span>
#include <string>

namespace d9d {

// `height` lines of at most `width` columns with the values' scale on the left. A column shows the mean of its
// values. Below them the numbers of the first and the last value, counted from 0, as "step 0 ... 99".
std::string plot(std::span<const double> values, const std::string& count_of, int width = 72,
                 int height = 12);

}  // namespace d9d
