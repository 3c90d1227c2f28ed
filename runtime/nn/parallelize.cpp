#include "runtime/nn/parallelize.hpp"

namespace d9d {

void parallelize_replicate(std::vector<StageParameter>& parameters, const Mesh& mesh,
                           const std::vector<std::string>& axes, int rank) {
  std::vector<LayoutAxis> layout_axes;
  for (const std::string& axis : axes) {
    layout_axes.push_back({axis, mesh.axis_size(axis), mesh.coordinate(rank, axis), Placement::replicate()});
  }
  for (StageParameter& parameter : parameters) {
    parameter.layout = Layout(parameter.layout.global_shape(), layout_axes);
  }
}

}  // namespace d9d
