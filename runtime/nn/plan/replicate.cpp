#include "runtime/nn/plan/replicate.hpp"

#include <algorithm>

#include "runtime/tensor/tied.hpp"

namespace d9d {
namespace {

bool lies_on(const StageParameter& parameter, const std::string& axis) {
  const auto& axes = parameter.layout.axes();
  return std::any_of(axes.begin(), axes.end(), [&](const LayoutAxis& own) { return own.name == axis; });
}

bool lies_elsewhere(const StageParameter& parameter, const std::vector<std::string>& axes) {
  const auto& own = parameter.layout.axes();
  return std::any_of(own.begin(), own.end(), [&](const LayoutAxis& axis) {
    return axis.name != tied_axis && std::find(axes.begin(), axes.end(), axis.name) == axes.end();
  });
}

}  // namespace

void parallelize_replicate(StageParameters& parameters, const Mesh& mesh,
                           const std::vector<std::string>& axes, int rank) {
  for (StageParameter& parameter : parameters) {
    if (lies_elsewhere(parameter, axes)) continue;
    for (const std::string& axis : axes) {
      if (!lies_on(parameter, axis)) place(parameter, axis_of(mesh, axis, rank, Placement::replicate()));
    }
  }
}

}  // namespace d9d
