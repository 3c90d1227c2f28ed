#pragma once
// A simulated (or measured) program as a picture: a row per rank, time to the right, a box per action.

#include <string>
#include <vector>

#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {

struct SvgOptions {
  int width = 1200;  // pixels of the time axis
  int row = 28;      // pixels of a rank
  std::string title;
  std::string unit;       // of the times, with its space: " ms"
  bool embedded = false;  // within a page: its colour of text and ground, as wide as there is room
};

// F blue, B green, I teal, W amber; later stages of a rank are darker; the parts of a composed action have a frame
// around them. Each box has its mnemonic, times and length as tooltip, and its microbatch as text where that fits.
// Under the rows a time axis, at the end a legend of what is there.
std::string draw_svg(const Simulation& simulation, const SvgOptions& options);

// Several above one another on one scale of time; options.title
// is not used. Actions that overlap on a rank share its row.
struct SvgPanel {
  std::string title;
  const Simulation* simulation = nullptr;
  std::vector<std::string> rows = {};  // names of the ranks; empty: "pp rank 0", ...
  std::string note = {};               // a line under it
};
std::string draw_svg(const std::vector<SvgPanel>& panels, const SvgOptions& options);

}  // namespace d9d
