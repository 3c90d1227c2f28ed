#pragma once
// Two traced runs beside each other: what `d9d-node trace --against` prints.

#include <string>

#include "runtime/trace/analysis.hpp"

namespace d9d::trace {

// Means per rank and step of each part of a step's time, and the `top` actors whose time per step changed most. An
// actor that one of the runs lacks counts as 0 there.
std::string compare(const Analysis& run, const Analysis& against, std::size_t top = 10);

}  // namespace d9d::trace
