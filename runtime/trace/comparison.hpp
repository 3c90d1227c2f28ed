#pragma once
// Compares two traced runs, as `d9d-node trace --against` prints it.

#include <string>

#include "runtime/trace/analysis.hpp"

namespace d9d::trace {

// Prints the means per rank and step of each part of a step's time, and the `top` actors whose time
// per step changed most. An actor that one of the runs lacks counts as 0 there.
std::string compare(const Analysis& run, const Analysis& against, std::size_t top = 10);

}  // namespace d9d::trace
