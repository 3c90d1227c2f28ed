#pragma once
// A simulated (or measured) program as a picture: a row per rank, time to the right, a box per action.

#include <string>

#include "runtime/pipeline/simulator.hpp"

namespace d9d {

struct SvgOptions {
  int width = 1200;  // pixels of the time axis
  int row = 28;      // pixels of a rank
  std::string title;
};

// F blue, B green, I teal, W amber; later stages of a rank are darker. Each box has its mnemonic, times and
// length as tooltip, and its microbatch as text where that fits.
std::string draw_svg(const Simulation& simulation, const SvgOptions& options);

}  // namespace d9d
