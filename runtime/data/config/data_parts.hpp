#pragma once
// The sources of a job's data, whether there is one or a mixture.

#include <string>
#include <vector>

#include "runtime/data/config/data_config.hpp"

namespace d9d {

struct DataPart {
  std::string path;  // of its section: "data", or "data.parts.N" of a mixture
  PartConfig source;
};
std::vector<DataPart> parts_of(const DataConfig& data);

}  // namespace d9d
