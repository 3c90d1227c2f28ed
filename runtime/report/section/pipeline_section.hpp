#pragma once
// Draws chosen steps of the trace: the measured pipeline above a simulation of the same program.

#include <string>
#include <vector>

#include "runtime/report/traced_run.hpp"

namespace d9d::report {

// Draws `steps`, or the last whole step and the slowest one if it is empty. Input error: one of
// `steps` is not in the trace, or not whole.
std::string pipeline_section(const TracedRun& traced, const std::vector<int>& steps);

}  // namespace d9d::report
