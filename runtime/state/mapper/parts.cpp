#include "runtime/state/mapper/parts.hpp"

#include <numeric>

#include "runtime/base/error.hpp"

namespace d9d {

Names unique_names(const std::vector<std::string>& names, const char* mapper) {
  D9D_REQUIRE(!names.empty(), "{}: the list of names is empty", mapper);
  Names unique;
  for (const auto& name : names)
    D9D_REQUIRE(unique.insert(name).second, "{}: \"{}\" is named twice", mapper, name);
  return unique;
}

std::size_t wrapped_dim(std::int64_t dim, std::int64_t num_dims, const char* mapper,
                        const std::string& name) {
  D9D_REQUIRE(dim >= -num_dims && dim < num_dims, "{}: dim {} is out of range for \"{}\"; expected {} to {}",
              mapper, dim, name, -num_dims, num_dims - 1);
  return static_cast<std::size_t>(dim < 0 ? dim + num_dims : dim);
}

void require_same_dtype(const at::Tensor& first, const at::Tensor& other, const char* mapper,
                        const std::string& name) {
  D9D_REQUIRE(first.scalar_type() == other.scalar_type(), "{}: \"{}\" is {}, the tensors before it are {}",
              mapper, name, c10::toString(other.scalar_type()), c10::toString(first.scalar_type()));
}

Slice without_dim(Slice slice, std::size_t dim) {
  slice.begin.erase(slice.begin.begin() + static_cast<std::ptrdiff_t>(dim));
  slice.end.erase(slice.end.begin() + static_cast<std::ptrdiff_t>(dim));
  return slice;
}

Slice with_dim(Slice slice, std::size_t dim, std::int64_t begin, std::int64_t end) {
  slice.begin.insert(slice.begin.begin() + static_cast<std::ptrdiff_t>(dim), begin);
  slice.end.insert(slice.end.begin() + static_cast<std::ptrdiff_t>(dim), end);
  return slice;
}

std::vector<int> same_dims(std::size_t num_dims) {
  std::vector<int> dims(num_dims);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::vector<int> dims_with_new(std::size_t num_dims, std::size_t dim) {
  std::vector<int> dims = same_dims(num_dims - 1);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(dim), -1);
  return dims;
}

std::vector<int> dims_without(std::size_t num_dims, std::size_t dim) {
  std::vector<int> dims = same_dims(num_dims);
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(dim));
  return dims;
}

}  // namespace d9d
