#pragma once
// How a parallel strategy places parameters on the mesh: it adds one mesh axis at a time to a parameter's
// layout. Reduction, norm, clipping, checkpoints, load and export all follow from the layouts.
//
// The axis added first is the outermost. Tensor and expert parallelism, where a
// module computes with its shard, come before fully sharding, which gathers
// shards before use: what is gathered is then contiguous.

#include <string>
#include <vector>

#include "runtime/mesh/mesh.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// The parameters of one stage, in the module's order.
using StageParameters = std::vector<StageParameter>;

// The axes of the dense domain without pp, outer to inner: dense
// parameters are placed on these. Together they cover the ranks of a stage.
const std::vector<std::string>& dense_axes();
// The same of the expert domain, for the parameters of experts.
const std::vector<std::string>& expert_axes();

LayoutAxis axis_of(const Mesh& mesh, const std::string& name, int rank, Placement placement);

// Finds the parameter that has this tensor. A bug when there is none.
StageParameter& parameter_of(StageParameters& parameters, const at::Tensor& tensor);

// Adds the axis to the parameter's layout. If the axis shards it, the same tensor object becomes this rank's
// shard, uninitialised: strategies run before weights are drawn or loaded.
void place(StageParameter& parameter, const LayoutAxis& axis);

}  // namespace d9d
