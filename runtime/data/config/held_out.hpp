#pragma once
// The section of data that has the rows which another one holds out (data.validation).

#include <optional>

#include "runtime/data/config/data_config.hpp"

namespace d9d {

// In the files' order, once; of a mixture its parts that hold rows out, with their weights. Nothing where no part does.
std::optional<DataConfig> held_out(const DataConfig& data);

}  // namespace d9d
