#pragma once
// Chosen steps of the trace: what the pipeline measured above the simulation of the same program.

#include <string>
#include <vector>

#include "runtime/report/traced_run.hpp"

namespace d9d::report {

// Without `steps` the last whole one and the slowest. Input error: one of `steps` is not in the trace, or not whole.
std::string pipeline_section(const TracedRun& traced, const std::vector<int>& steps);

}  // namespace d9d::report
