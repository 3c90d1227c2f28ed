#pragma once
// How a parallel strategy places parameters on the mesh: it adds one mesh axis at a time to a parameter's
// layout. Reduction, norm, clipping, checkpoints, load and export all follow from the layouts.
//
// The axis that is added first is the outermost. Place tensor and expert parallelism, where a
// module computes with its shard, before full sharding, which gathers shards before use: the
// gathered rows are then contiguous.

#include <string>
#include <vector>

#include "runtime/mesh/mesh.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// The parameters of one stage, in the module's order.
using StageParameters = std::vector<StageParameter>;

// The axes on which dense parameters are placed: those of the dense domain without pp, outer to inner.
// Together they cover the ranks of a stage.
const std::vector<std::string>& dense_axes();
// The axes on which the parameters of experts are placed: those of the expert domain, likewise.
const std::vector<std::string>& expert_axes();

LayoutAxis axis_of(const Mesh& mesh, const std::string& name, int rank, Placement placement);

// Finds the parameter that has this tensor. A bug when there is none.
StageParameter& parameter_of(StageParameters& parameters, const at::Tensor& tensor);

// Adds the axis to the parameter's layout. If the axis shards it, the same tensor object becomes this rank's
// shard. The shard is uninitialised, because strategies run before weights are drawn or loaded.
void place(StageParameter& parameter, const LayoutAxis& axis);

// Cuts a parameter [out, ..] like the rows of the weight. It is whole on ranks that cut the columns alone.
void follow_rows(const StageParameter& weight, StageParameter& parameter);

}  // namespace d9d
