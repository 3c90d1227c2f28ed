#include "runtime/tensor/tensor_map.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

const at::Tensor& tensor_at(const TensorMap& map, std::string_view name, const char* what) {
  const auto found = map.find(std::string(name));
  if (found != map.end()) return found->second;
  std::string names;
  for (const auto& [known, tensor] : map) names += names.empty() ? known : ", " + known;
  throw Error(ErrorKind::input, fmt::format("{} has no tensor \"{}\"; it has: {}", what, name, names));
}

}  // namespace d9d
