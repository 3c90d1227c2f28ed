#pragma once
// Draws a simulated (or measured) program: a row per rank, time to the right, a box per action.

#include <string>
#include <vector>

#include "runtime/pipeline/simulated/simulator.hpp"

namespace d9d {

struct SvgOptions {
  int width = 1200;  // pixels of the time axis
  int row = 28;      // pixels of a rank
  std::string title;
  std::string unit;       // of the times, with a space in front: " ms"
  bool embedded = false;  // for use in a page: has the page's colours, and its width
};

// F is blue, B green, I teal, W amber. Later stages of a rank are darker. The parts of a composed action
// have a frame. The tooltip of a box has mnemonic, times and length; its text, where it fits, is the
// microbatch. Below the rows there are a time axis and a legend.
std::string draw_svg(const Simulation& simulation, const SvgOptions& options);

// Draws several panels one above the other on the same time scale. Ignores options.title. Actions that
// overlap on a rank share its row.
struct SvgPanel {
  std::string title;
  const Simulation* simulation = nullptr;
  std::vector<std::string> rows = {};  // names of the ranks; empty: "pp rank 0", ...
  std::string note = {};               // a line under it
};
std::string draw_svg(const std::vector<SvgPanel>& panels, const SvgOptions& options);

}  // namespace d9d
