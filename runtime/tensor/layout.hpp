#pragma once
// The layout of a parameter: which block of a global tensor each rank of a mesh
// holds. Reduction, norm, clipping, checkpoint, load and export
// derive everything from it. Pure integers; no torch.

#include <cstdint>
#include <string>
#include <vector>

namespace d9d {

// What one mesh axis does: every rank holds the whole tensor, or each a block of dimension `shard_dim`.
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
// The part that both contain; empty in some dimension when there is none.
Slice intersection(const Slice& a, const Slice& b);

class Layout {
 public:
  Layout() = default;
  // Several axes may shard the same dimension: the first named axis is the outer one.
  Layout(std::vector<std::int64_t> global_shape, std::vector<LayoutAxis> axes);
  // Everything on one rank.
  static Layout local(std::vector<std::int64_t> global_shape);

  const std::vector<std::int64_t>& global_shape() const { return global_shape_; }
  const std::vector<LayoutAxis>& axes() const { return axes_; }
  // The block of this rank. Uneven sizes: the first ranks get one element more (near-even split).
  Slice local_slice() const;
  // Mesh axes of size > 1 on which the parameter is replicated: gradients are summed over them.
  std::vector<std::string> replicate_axes() const;
  // Mesh axes of size > 1 on which it is sharded: norms are summed over them.
  std::vector<std::string> shard_axes() const;
  // Exactly one rank of all replicas owns the block for writing: coordinate 0 on every replicate axis.
  bool is_writer() const;

 private:
  std::vector<std::int64_t> global_shape_;
  std::vector<LayoutAxis> axes_;
};

}  // namespace d9d
