#pragma once
// The job's configuration: the main choices as a list, and all keys.

#include <string>

#include "runtime/report/run_folder.hpp"

namespace d9d::report {

std::string job_section(const RunFolder& run);

// As YAML; keys without a value (null) are left out.
std::string yaml_of(const config::Json& value);

}  // namespace d9d::report
