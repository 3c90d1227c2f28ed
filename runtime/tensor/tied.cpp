#include "runtime/tensor/tied.hpp"

namespace d9d {

LayoutAxis axis_of_tied_copy(int copy) {
  return {tied_axis, /*size=*/2, copy, Placement::replicate()};
}

std::optional<int> tied_copy(const Layout& layout) {
  for (const LayoutAxis& axis : layout.axes()) {
    if (axis.name == tied_axis) return axis.index;
  }
  return std::nullopt;
}

}  // namespace d9d
