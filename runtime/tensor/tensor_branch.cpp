#include "runtime/tensor/tensor_branch.hpp"

#include <ATen/ops/empty.h>

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

at::Tensor tensor_of(std::string_view bytes) {
  at::Tensor tensor = at::empty({std::ssize(bytes)}, at::kByte);
  std::ranges::copy(bytes, tensor.mutable_data_ptr<std::uint8_t>());
  return tensor;
}

std::string bytes_at(const TensorMap& map, const std::string& path, const char* what) {
  const at::Tensor& given = tensor_at(map, path, what);
  D9D_REQUIRE(given.dim() == 1 && given.scalar_type() == at::kByte,
              "{} of {} is a {} tensor of {} dimensions, expected a text: uint8 [n]", path, what,
              c10::toString(given.scalar_type()), given.dim());
  const at::Tensor bytes = given.cpu().contiguous();
  const auto* const first = bytes.const_data_ptr<std::uint8_t>();
  return {first, first + bytes.numel()};
}

bool has(const TensorMap& map, const std::string& path) {
  return map.contains(path) || !names_below(map, path).empty();
}

void require(const TensorMap& map, const std::string& path) {
  D9D_REQUIRE(has(map, path),
              "{} of a tree of tensors has no tensors, so that it would be lost; leave it out", path);
}

}  // namespace d9d::tensor_tree
