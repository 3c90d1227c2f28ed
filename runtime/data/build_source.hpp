#pragma once

#include <memory>

#include "runtime/data/data_config.hpp"
#include "runtime/data/sample_source.hpp"

namespace d9d {

// The source that a job's `data` section asks for; `text` tokenises everything here. Share it between the
// loaders of a process.
std::shared_ptr<const SampleSource> build_source(const DataConfig& config);

}  // namespace d9d
