#include "runtime/nn/shard/placing.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

const std::vector<std::string>& dense_axes() {
  static const std::vector<std::string> axes{"dp_replicate", "dp_cp_shard", "cp_replicate", "tp"};
  return axes;
}

const std::vector<std::string>& expert_axes() {
  static const std::vector<std::string> axes{"ep_replicate", "ep_shard"};
  return axes;
}

LayoutAxis axis_of(const Mesh& mesh, const std::string& name, int rank, Placement placement) {
  return {name, mesh.axis_size(name), mesh.coordinate(rank, name), placement};
}

StageParameter& parameter_of(StageParameters& parameters, const at::Tensor& tensor) {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const StageParameter& parameter) {
    return parameter.tensor.is_same(tensor);
  });
  D9D_CHECK(found != parameters.end(), "a tensor of {} elements is no parameter of the stage",
            tensor.numel());
  return *found;
}

void place(StageParameter& parameter, const LayoutAxis& axis) {
  std::vector<LayoutAxis> axes = parameter.layout.axes();
  axes.push_back(axis);
  parameter.layout = Layout(parameter.layout.global_shape(), std::move(axes));
  const std::vector<std::int64_t> shape = parameter.layout.local_slice().shape();
  if (parameter.tensor.sizes() == at::IntArrayRef(shape)) return;
  parameter.tensor.set_data(at::empty(shape, parameter.tensor.options().requires_grad(false)));
}

void follow_rows(const StageParameter& weight, StageParameter& parameter) {
  for (const LayoutAxis& axis : weight.layout.axes())
    if (!axis.placement.is_shard() || axis.placement.shard_dim == 0) place(parameter, axis);
}

}  // namespace d9d
