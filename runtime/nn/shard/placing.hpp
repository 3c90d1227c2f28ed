#pragma once
// How parallel strategies lay parameters over a mesh: axis by axis, each added to the parameter's layout.
// Everything else (reduction, norm, clipping, checkpoint, load, export) derives from the layouts.
//
// Order: the axis named first is the outer one. Strategies whose block is
// what the module computes with (tensor, expert parallel) come before those
// that gather it again (fully shard), so that what is gathered is contiguous.

#include <string>
#include <vector>

#include "runtime/mesh/mesh.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Of one stage, in the module's order.
using StageParameters = std::vector<StageParameter>;

// Of the dense domain, outer to inner: the axes on which a
// dense parameter may lie, all ranks of a stage together.
const std::vector<std::string>& dense_axes();
// Of the expert domain, likewise.
const std::vector<std::string>& expert_axes();

LayoutAxis axis_of(const Mesh& mesh, const std::string& name, int rank, Placement placement);

// The parameter whose tensor this is; a tensor that is none of them is a bug.
StageParameter& parameter_of(StageParameters& parameters, const at::Tensor& tensor);

// Adds the axis to the layout. For a shard the tensor keeps its identity and becomes the rank's block,
// uninitialised: strategies run before weights are drawn or loaded.
void place(StageParameter& parameter, const LayoutAxis& axis);

}  // namespace d9d
