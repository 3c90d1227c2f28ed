#pragma once
// Lists the sources of a job's data: one, or the parts of a mixture.

#include <string>
#include <vector>

#include "runtime/data/config/data_config.hpp"

namespace d9d {

struct DataPart {
  std::string path;  // the section's key path: "data", or "data.parts.N" of a mixture
  PartConfig source;
};
std::vector<DataPart> parts_of(const DataConfig& data);

}  // namespace d9d
