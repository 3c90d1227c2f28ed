#include "runtime/data/config/data_parts.hpp"

namespace d9d {
namespace {

struct PartsOf {
  std::vector<DataPart> operator()(const MixtureDataConfig& mixture) const {
    std::vector<DataPart> parts;
    for (const MixturePart& part : mixture.parts) {
      parts.push_back({"data.parts." + std::to_string(parts.size()), part.source});
    }
    return parts;
  }
  template <class One>
  std::vector<DataPart> operator()(const One& source) const {
    return {{"data", source}};
  }
};

}  // namespace

std::vector<DataPart> parts_of(const DataConfig& data) {
  return std::visit(PartsOf{}, data);
}

}  // namespace d9d
