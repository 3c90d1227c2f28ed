#include "runtime/state/convert/box_cursor.hpp"

#include <algorithm>
#include <cstddef>

namespace d9d {

BoxCursor::BoxCursor(Shape shape, std::int64_t values_max) : shape_(std::move(shape)), box_(whole(shape_)) {
  values_max = std::max<std::int64_t>(values_max, 1);
  if (is_empty(box_) || box_.num_elements() <= values_max) return;
  cut_ = shape_.size() - 1;
  std::int64_t row = 1;
  while (cut_ > 0 && row * shape_[cut_] <= values_max) row *= shape_[cut_--];
  rows_ = std::max<std::int64_t>(values_max / row, 1);
  for (std::size_t d = 0; d < cut_; ++d) box_.end[d] = 1;
  box_.end[cut_] = std::min(rows_, shape_[cut_]);
}

std::optional<Slice> BoxCursor::next() {
  if (done_) return {};
  const Slice box = box_;
  advance();
  return box;
}

void BoxCursor::advance() {
  done_ = true;
  if (rows_ == 0) return;  // the whole tensor was one box
  if (box_.end[cut_] < shape_[cut_]) {
    done_ = false;
    box_.begin[cut_] = box_.end[cut_];
  } else {
    box_.begin[cut_] = 0;
    for (std::size_t d = cut_; d-- > 0 && done_;) {
      done_ = box_.end[d] == shape_[d];
      box_.begin[d] = done_ ? 0 : box_.end[d];
      box_.end[d] = box_.begin[d] + 1;
    }
  }
  box_.end[cut_] = std::min(box_.begin[cut_] + rows_, shape_[cut_]);
}

std::int64_t first_value(const Slice& box, const Shape& shape) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + box.begin[d];
  return at;
}

bool is_one_run(const Slice& box, const Shape& shape) {
  bool begun = false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto extent = box.end[d] - box.begin[d];
    if (begun && extent != shape[d]) return false;
    begun = begun || extent > 1;
  }
  return true;
}

}  // namespace d9d
