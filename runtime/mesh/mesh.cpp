#include "runtime/mesh/mesh.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

Mesh::Mesh(std::vector<std::string> axis_names, std::vector<int> sizes)
    : names_(std::move(axis_names)), sizes_(std::move(sizes)), strides_(sizes_.size(), 1) {
  D9D_CHECK(names_.size() == sizes_.size(), "{} axis names for {} sizes", names_.size(), sizes_.size());
  for (std::size_t axis = sizes_.size(); axis-- > 0;) {
    D9D_CHECK(sizes_[axis] >= 1, "axis {} has size {}", names_[axis], sizes_[axis]);
    D9D_CHECK(std::count(names_.begin(), names_.end(), names_[axis]) == 1, "axis {} twice", names_[axis]);
    strides_[axis] = size_;
    size_ *= sizes_[axis];
  }
}

int Mesh::axis_index(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  D9D_REQUIRE(found != names_.end(), "no mesh axis \"{}\" here; there are {}", name, fmt::join(names_, ", "));
  return static_cast<int>(found - names_.begin());
}

std::vector<int> Mesh::coordinates(int rank) const {
  D9D_CHECK(rank >= 0 && rank < size_, "rank {} of a mesh of {}", rank, size_);
  std::vector<int> result(sizes_.size());
  for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
    result[axis] = rank / strides_[axis] % sizes_[axis];
  return result;
}

int Mesh::coordinate(int rank, const std::string& axis) const {
  const int index = axis_index(axis);
  return rank / strides_[index] % sizes_[index];
}

int Mesh::rank(const std::vector<int>& coordinates) const {
  D9D_CHECK(coordinates.size() == sizes_.size(), "{} coordinates for {} axes", coordinates.size(),
            sizes_.size());
  int result = 0;
  for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
    D9D_CHECK(coordinates[axis] >= 0 && coordinates[axis] < sizes_[axis],
              "coordinate {} on axis {} of size {}", coordinates[axis], names_[axis], sizes_[axis]);
    result += coordinates[axis] * strides_[axis];
  }
  return result;
}

std::vector<int> Mesh::group(int rank, const std::vector<std::string>& axes) const {
  const std::vector<bool> chosen = selected(axes);
  std::vector<int> ranks = offsets(chosen);
  const int first = first_of_group(rank, chosen);
  for (int& member : ranks) member += first;
  return ranks;
}

int Mesh::group_size(const std::vector<std::string>& axes) const {
  const std::vector<bool> chosen = selected(axes);
  int product = 1;
  for (std::size_t axis = 0; axis < sizes_.size(); ++axis) product *= chosen[axis] ? sizes_[axis] : 1;
  return product;
}

std::vector<std::vector<int>> Mesh::groups(const std::vector<std::string>& axes) const {
  const std::vector<bool> chosen = selected(axes);
  const std::vector<int> steps = offsets(chosen);
  std::vector<std::vector<int>> result;
  result.reserve(static_cast<std::size_t>(size_) / steps.size());
  for (int rank = 0; rank < size_; ++rank) {
    if (first_of_group(rank, chosen) != rank) continue;
    std::vector<int>& members = result.emplace_back(steps);
    for (int& member : members) member += rank;
  }
  return result;
}

std::string Mesh::label(int rank) const {
  const std::vector<int> place = coordinates(rank);
  std::string text;
  for (std::size_t axis = 0; axis < names_.size(); ++axis) {
    if (sizes_[axis] > 1) text += fmt::format("{}{}:{}", text.empty() ? "" : "-", names_[axis], place[axis]);
  }
  return text;
}

std::vector<bool> Mesh::selected(const std::vector<std::string>& axes) const {
  std::vector<bool> result(sizes_.size(), false);
  for (const std::string& name : axes) result[axis_index(name)] = true;
  return result;
}

std::vector<int> Mesh::offsets(const std::vector<bool>& selected) const {
  std::vector<int> result{0};
  for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
    if (!selected[axis]) continue;
    std::vector<int> wider;
    wider.reserve(result.size() * sizes_[axis]);
    for (const int offset : result) {
      for (int index = 0; index < sizes_[axis]; ++index) wider.push_back(offset + index * strides_[axis]);
    }
    result = std::move(wider);
  }
  return result;
}

int Mesh::first_of_group(int rank, const std::vector<bool>& selected) const {
  for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
    if (selected[axis]) rank -= rank / strides_[axis] % sizes_[axis] * strides_[axis];
  }
  return rank;
}

}  // namespace d9d
