#pragma once
// A run's numbers as charts: loss, gradient norm, learning rate, throughput, memory, experts, and what else was logged.

#include <string>

#include "runtime/report/run_folder.hpp"

namespace d9d::report {

std::string curves_section(const RunFolder& run);

}  // namespace d9d::report
