#include "runtime/tensor/layout.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Block `index` of `parts` of the interval [begin, end): the first (length mod parts) blocks are one longer.
std::pair<std::int64_t, std::int64_t> near_even_block(std::int64_t begin, std::int64_t end, int parts,
                                                      int index) {
  const std::int64_t length = end - begin;
  const std::int64_t base = length / parts;
  const std::int64_t longer = length % parts;
  const std::int64_t start = begin + base * index + std::min<std::int64_t>(index, longer);
  return {start, start + base + (index < longer ? 1 : 0)};
}

}  // namespace

std::vector<std::int64_t> Slice::shape() const {
  std::vector<std::int64_t> sizes(begin.size());
  for (std::size_t d = 0; d < begin.size(); ++d) sizes[d] = std::max<std::int64_t>(0, end[d] - begin[d]);
  return sizes;
}

std::int64_t Slice::num_elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape()) count *= size;
  return count;
}

Slice whole(const std::vector<std::int64_t>& global_shape) {
  return {std::vector<std::int64_t>(global_shape.size(), 0), global_shape};
}

Slice intersection(const Slice& a, const Slice& b) {
  D9D_CHECK(a.begin.size() == b.begin.size(), "slices of {} and {} dimensions", a.begin.size(),
            b.begin.size());
  Slice both = a;
  for (std::size_t d = 0; d < a.begin.size(); ++d) {
    both.begin[d] = std::max(a.begin[d], b.begin[d]);
    both.end[d] = std::max(both.begin[d], std::min(a.end[d], b.end[d]));
  }
  return both;
}

Layout::Layout(std::vector<std::int64_t> global_shape, std::vector<LayoutAxis> axes)
    : global_shape_(std::move(global_shape)), axes_(std::move(axes)) {
  for (const LayoutAxis& axis : axes_) {
    D9D_CHECK(axis.size > 0 && axis.index >= 0 && axis.index < axis.size, "axis {} has index {} of {}",
              axis.name, axis.index, axis.size);
    D9D_CHECK(axis.placement.shard_dim < static_cast<int>(global_shape_.size()),
              "axis {} shards dimension {} of a tensor with {} dimensions", axis.name,
              axis.placement.shard_dim, global_shape_.size());
  }
}

Layout Layout::local(std::vector<std::int64_t> global_shape) {
  return Layout(std::move(global_shape), {});
}

Slice Layout::local_slice() const {
  Slice slice = whole(global_shape_);
  for (const LayoutAxis& axis : axes_) {
    if (!axis.placement.is_shard()) continue;
    const auto dim = static_cast<std::size_t>(axis.placement.shard_dim);
    // A second axis on the same dimension cuts what the first one has left.
    std::tie(slice.begin[dim], slice.end[dim]) =
        near_even_block(slice.begin[dim], slice.end[dim], axis.size, axis.index);
  }
  return slice;
}

std::vector<std::string> Layout::replicate_axes() const {
  std::vector<std::string> names;
  for (const LayoutAxis& axis : axes_) {
    if (axis.size > 1 && !axis.placement.is_shard()) names.push_back(axis.name);
  }
  return names;
}

std::vector<std::string> Layout::shard_axes() const {
  std::vector<std::string> names;
  for (const LayoutAxis& axis : axes_) {
    if (axis.size > 1 && axis.placement.is_shard()) names.push_back(axis.name);
  }
  return names;
}

bool Layout::is_writer() const {
  return std::all_of(axes_.begin(), axes_.end(),
                     [](const LayoutAxis& axis) { return axis.placement.is_shard() || axis.index == 0; });
}

}  // namespace d9d
