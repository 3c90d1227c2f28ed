#pragma once
// The layout of a parameter: which block of a global tensor each rank of a mesh holds. Reduction, norm,
// clipping, checkpoint, load and export derive everything from it. Pure integers; no torch.

#include <cstdint>
#include <string>
#include <vector>

namespace d9d {

// How a tensor is placed on one mesh axis: every rank holds all of it, or each rank a
// block of dimension `shard_dim`.
struct Placement {
  static constexpr int replicated = -1;
  int shard_dim = replicated;

  static Placement replicate() { return {}; }
  static Placement shard(int dim) { return {dim}; }
  bool is_shard() const { return shard_dim >= 0; }
  bool operator==(const Placement&) const = default;
};

struct LayoutAxis {
  std::string name;  // mesh axis, e.g. "dp_replicate"
  int size = 1;      // ranks on it
  int index = 0;     // this rank's coordinate, in [0, size)
  Placement placement;
};

// A block of a global tensor: per dimension [begin, end).
struct Slice {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;

  std::vector<std::int64_t> shape() const;
  std::int64_t num_elements() const;
  bool operator==(const Slice&) const = default;
};
Slice whole(const std::vector<std::int64_t>& global_shape);
// Returns the part that both contain. If there is none, it is empty in some dimension.
Slice intersection(const Slice& a, const Slice& b);

class Layout {
 public:
  Layout() = default;
  // Several axes may shard the same dimension. The first of them divides it first; the
  // next divides its blocks.
  Layout(std::vector<std::int64_t> global_shape, std::vector<LayoutAxis> axes);
  // The layout of a tensor that is whole on one rank.
  static Layout local(std::vector<std::int64_t> global_shape);

  const std::vector<std::int64_t>& global_shape() const { return global_shape_; }
  const std::vector<LayoutAxis>& axes() const { return axes_; }
  // The block of this rank. If the size is not divisible, the first ranks get one element more.
  Slice local_slice() const;
  // Mesh axes of size > 1 on which the parameter is replicated. Gradients are summed over them.
  std::vector<std::string> replicate_axes() const;
  // Mesh axes of size > 1 on which it is sharded. Norms are summed over them.
  std::vector<std::string> shard_axes() const;
  // Whether this rank writes the block to checkpoints: exactly one of its replicas does, the one with
  // coordinate 0 on every replicate axis.
  bool is_writer() const;

 private:
  std::vector<std::int64_t> global_shape_;
  std::vector<LayoutAxis> axes_;
};

}  // namespace d9d
