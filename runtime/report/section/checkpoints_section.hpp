#pragma once
// What a run has saved, as `d9d-node checkpoint list` prints it.

#include <string>

#include "runtime/report/run_folder.hpp"

namespace d9d::report {

std::string checkpoints_section(const RunFolder& run);

}  // namespace d9d::report
