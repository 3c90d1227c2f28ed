#include "runtime/nn/parallel/replicate.hpp"

namespace d9d {

void parallelize_replicate(StageParameters& parameters, const Mesh& mesh,
                           const std::vector<std::string>& axes, int rank) {
  for (StageParameter& parameter : parameters) {
    if (!parameter.layout.axes().empty()) continue;
    for (const std::string& axis : axes) place(parameter, axis_of(mesh, axis, rank, Placement::replicate()));
  }
}

}  // namespace d9d
