#include "runtime/train/global_index.hpp"

namespace d9d {

GlobalIndex::GlobalIndex(const std::vector<std::int64_t>& global_shape, const Slice& slice) {
  const std::vector<std::int64_t> shape = slice.shape();
  std::int64_t stride = 1;
  bool whole_so_far = true;  // all dimensions behind this one are whole
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    base_ += slice.begin[dim] * stride;
    if (whole_so_far) {
      run_ *= shape[dim];
      whole_so_far = shape[dim] == global_shape[dim];
    } else {
      outer_shape_.insert(outer_shape_.begin(), shape[dim]);
      outer_stride_.insert(outer_stride_.begin(), stride);
    }
    stride *= global_shape[dim];
  }
}

std::int64_t GlobalIndex::begin_of_run(std::int64_t run) const {
  std::int64_t element = base_;
  for (std::size_t dim = outer_shape_.size(); dim-- > 0;) {
    element += run % outer_shape_[dim] * outer_stride_[dim];
    run /= outer_shape_[dim];
  }
  return element;
}

}  // namespace d9d
