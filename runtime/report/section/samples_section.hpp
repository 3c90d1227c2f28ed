#pragma once
// Text that a run has generated, where its folder has such: samples*.txt and samples/*.txt.

#include <string>

#include "runtime/report/run_folder.hpp"

namespace d9d::report {

// Empty when there is none.
std::string samples_section(const RunFolder& run);

}  // namespace d9d::report
