#pragma once
// Shows text that a run has generated: samples*.txt and samples/*.txt of its folder.

#include <string>

#include "runtime/report/run_folder.hpp"

namespace d9d::report {

// Empty when there is none.
std::string samples_section(const RunFolder& run);

}  // namespace d9d::report
