#pragma once
// Derives the data of an evaluation from a section that holds rows out (data.validation).

#include <optional>

#include "runtime/data/config/data_config.hpp"

namespace d9d {

// Returns the section of the held-out rows, read once and in the files' order. Of a mixture it
// keeps the parts that hold rows out, with their weights. Returns nothing where no part does.
std::optional<DataConfig> held_out(const DataConfig& data);

}  // namespace d9d
