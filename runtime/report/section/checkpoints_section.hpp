#pragma once
// Lists a run's checkpoints, as `d9d-node checkpoint list` does.

#include <string>

#include "runtime/report/run_folder.hpp"

namespace d9d::report {

std::string checkpoints_section(const RunFolder& run);

}  // namespace d9d::report
