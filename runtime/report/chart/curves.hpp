#pragma once
// The numbers of metrics.jsonl, by name.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace d9d::report {

// values[i] belongs to steps[i]. NaN if the file has null, which stands for a number
// that was not finite.
struct Curve {
  std::string name;
  std::vector<double> steps;
  std::vector<double> values;
};

constexpr std::size_t texts_max = 12;

struct RecordedText {
  std::string name;
  double step = 0;
  std::string text;
};

struct Curves {
  std::vector<Curve> all;            // in the order in which their names appear
  std::vector<RecordedText> texts;   // the last texts_max of them, as the file has them
  std::size_t num_steps = 0;         // lines with a step
  std::size_t unreadable_lines = 0;  // not JSON, or without a step

  const Curve* find(std::string_view name) const;  // null when there is none
};

// Untrusted text. Empty when there is no such file.
Curves read_curves(const std::filesystem::path& file);

}  // namespace d9d::report
