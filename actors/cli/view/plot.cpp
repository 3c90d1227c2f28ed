#include "actors/cli/view/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace d9d {
namespace {

std::vector<double> columns_of(std::span<const double> values, std::size_t width) {
  const std::size_t count = std::min(width, values.size());
  std::vector<double> columns(count);
  for (std::size_t column = 0; column < count; ++column) {
    const std::size_t begin = column * values.size() / count;
    const std::size_t end = (column + 1) * values.size() / count;
    const auto part = values.subspan(begin, end - begin);
    columns[column] = std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size());
  }
  return columns;
}

}  // namespace

std::string plot(std::span<const double> values, const std::string& count_of, int width, int height) {
  if (values.empty()) return {};
  const std::vector<double> columns = columns_of(values, static_cast<std::size_t>(width));
  const auto [low_at, high_at] = std::minmax_element(columns.begin(), columns.end());
  const double low = std::min(0.0, *low_at);
  const double high = *high_at > low ? *high_at : low + 1.0;
  std::string text;
  for (int row = height - 1; row >= 0; --row) {
    const double level = low + (high - low) * row / (height - 1);
    std::string line;
    for (const double value : columns) {
      const auto at = static_cast<int>(std::lround((value - low) / (high - low) * (height - 1)));
      line += at == row ? '*' : ' ';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += fmt::format("{:>9.3g} |{}\n", level, line);
  }
  const std::string last = std::to_string(values.size() - 1);
  const auto room = std::max<std::size_t>(columns.size(), last.size() + 3);
  text += fmt::format("{:>9} +{}\n", "", std::string(columns.size(), '-'));
  return text + fmt::format("{:>9}  0{:>{}}\n", count_of, last, room - 1);
}

}  // namespace d9d
