#include "runtime/tensor/tensor_branch.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d::tensor_tree {

std::string below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "/" + name;
}

std::vector<std::string> names_below(const TensorMap& map, const std::string& path) {
  const std::string begin = path.empty() ? "" : path + "/";
  std::vector<std::string> names;
  for (auto at = map.lower_bound(begin); at != map.end() && at->first.starts_with(begin); ++at) {
    std::string name = at->first.substr(begin.size());
    name.resize(std::min(name.size(), name.find('/')));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

const std::string& checked_name(const std::string& name) {
  D9D_REQUIRE(!name.empty() && name.find('/') == std::string::npos,
              "a tree of tensors has the name \"{}\"; give one that is not empty and without /", name);
  return name;
}

void put(TensorMap& map, const std::string& path, const at::Tensor& tensor) {
  D9D_REQUIRE(tensor.defined(),
              "the tensor {} of a tree has no values; give it some, or make it an std::optional", path);
  map[path] = tensor;
}

bool has(const TensorMap& map, const std::string& path) {
  return map.contains(path) || !names_below(map, path).empty();
}

void require(const TensorMap& map, const std::string& path) {
  D9D_REQUIRE(has(map, path),
              "{} of a tree of tensors has no tensors, so that it would be lost; leave it out", path);
}

}  // namespace d9d::tensor_tree
