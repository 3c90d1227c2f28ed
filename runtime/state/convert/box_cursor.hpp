#pragma once
// Cuts a tensor into boxes whose values are contiguous in it. No torch.

#include <cstdint>
#include <optional>

#include "runtime/state/tensor_file/slice.hpp"

namespace d9d {

class BoxCursor {
 public:
  // A box has at most `values_max` values, and at least one.
  BoxCursor(Shape shape, std::int64_t values_max);

  // Returns the next box in row-major order; nothing after the last one. A tensor without values
  // is one empty box.
  std::optional<Slice> next();

 private:
  void advance();

  const Shape shape_;
  std::size_t cut_ = 0;    // a box has all of the dims after this one, and one index of each before it
  std::int64_t rows_ = 0;  // indices of dim `cut_` in a box
  Slice box_;
  bool done_ = false;
};

// Returns the number of the box's first value in a tensor of that shape, in row-major order.
std::int64_t first_value(const Slice& box, const Shape& shape);
// Whether the box's values are contiguous in a tensor of that shape.
bool is_one_run(const Slice& box, const Shape& shape);

}  // namespace d9d
