#pragma once
// Ranks arranged along named axes, row-major (the last axis varies fastest). Pure integers; can be copied.

#include <string>
#include <vector>

namespace d9d {

class Mesh {
 public:
  Mesh() = default;
  // Names must be distinct and sizes at least 1.
  Mesh(std::vector<std::string> axis_names, std::vector<int> sizes);

  const std::vector<std::string>& axis_names() const { return names_; }
  const std::vector<int>& sizes() const { return sizes_; }
  int size() const { return size_; }
  // Returns the position of an axis. Input error, with a list of the axes, if there is none of that name.
  int axis_index(const std::string& name) const;
  int axis_size(const std::string& name) const { return sizes_[axis_index(name)]; }

  std::vector<int> coordinates(int rank) const;
  int coordinate(int rank, const std::string& axis) const;
  int rank(const std::vector<int>& coordinates) const;

  // Returns the ranks that differ from `rank` on these axes only, ascending. The order in which the axes are
  // named does not matter. No axis: the rank alone.
  std::vector<int> group(int rank, const std::vector<std::string>& axes) const;
  int group_size(const std::vector<std::string>& axes) const;
  // Returns all groups of these axes, ordered by first rank. They partition the ranks. Takes time
  // linear in the ranks.
  std::vector<std::vector<int>> groups(const std::vector<std::string>& axes) const;

  // Returns the coordinates on axes of more than one rank: "pp:0-dp_replicate:1"; empty in a job of one rank.
  std::string label(int rank) const;

 private:
  std::vector<bool> selected(const std::vector<std::string>& axes) const;
  // Offsets of a group's ranks from its first rank.
  std::vector<int> offsets(const std::vector<bool>& selected) const;
  // `rank` with coordinate 0 on the selected axes.
  int first_of_group(int rank, const std::vector<bool>& selected) const;

  std::vector<std::string> names_;
  std::vector<int> sizes_;
  std::vector<int> strides_;
  int size_ = 1;
};

}  // namespace d9d
