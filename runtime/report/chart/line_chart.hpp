#pragma once
// Curves over the steps of a run as a figure of a page: inline SVG that takes the page's colours, legend, and the
// figures that matter as text below it.

#include <string>
#include <vector>

#include "runtime/report/chart/curves.hpp"

namespace d9d::report {

struct ChartMark {
  double step = 0;
  std::string text;
};

struct LineChart {
  std::string title = {};
  std::string unit = {};              // of the values
  std::vector<Curve> lines = {};      // at most lines_max; their names are the legend
  std::vector<ChartMark> marks = {};  // vertical lines: where the run was started again
  const Curve* elapsed = nullptr;     // seconds of training after each step: a second line of labels
  bool from_zero = false;             // else the scale begins near the smallest value
  bool smooth = false;                // draws a mean over neighbouring steps above the first line
  bool never_logarithmic = false;     // else the scale is logarithmic where outliers would hide the rest
};

inline constexpr std::size_t lines_max = 8;

// Draws a figure. A value that is not finite is marked at the foot of the picture
// and named below it.
std::string line_chart(const LineChart& chart);
// The same as a file of its own.
std::string line_chart_svg(const LineChart& chart);

}  // namespace d9d::report
