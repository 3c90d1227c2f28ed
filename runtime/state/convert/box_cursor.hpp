#pragma once
// Cuts a tensor into boxes whose values lie next to each other. No torch.

#include <cstdint>
#include <optional>

#include "runtime/state/tensor_file/slice.hpp"

namespace d9d {

class BoxCursor {
 public:
  // Boxes of at most `values_max` values, but at least one.
  BoxCursor(Shape shape, std::int64_t values_max);

  // In row-major order; nothing after the last one. A tensor without values is one empty box.
  std::optional<Slice> next();

 private:
  void advance();

  const Shape shape_;
  std::size_t cut_ = 0;    // dims after it are whole, those before it have one index
  std::int64_t rows_ = 0;  // of dim `cut_`, in a box
  Slice box_;
  bool done_ = false;
};

// The number of the box's first value in a tensor of that shape, in row-major order.
std::int64_t first_value(const Slice& box, const Shape& shape);
// Whether the box's values lie next to each other in a tensor of that shape.
bool is_one_run(const Slice& box, const Shape& shape);

}  // namespace d9d
