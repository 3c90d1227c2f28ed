#pragma once
// Marks the parameters that full sharding gathers together. A Unit encloses the computation of a layer, or
// of any part that owns parameters. In forward and in backward it tells its hook when the parameters are
// about to be used and when they are no longer needed. Without a hook it does nothing.
//
//   x = unit.enter({x}, recompute)[0];   ... everything that uses the unit's parameters ...
//   y = unit.leave({y}, recompute)[0];
//
// Backward calls come from autograd, on the thread that runs backward().

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace d9d {

class UnitHook {
 public:
  virtual ~UnitHook() = default;
  // `recompute`: backward runs the forward again (activation checkpointing); its backward follows at once.
  virtual void before_forward(bool recompute) = 0;
  virtual void after_forward(bool recompute) = 0;
  virtual void before_backward() = 0;
  // Is not called when none of the entering tensors requires a gradient.
  virtual void after_backward() = 0;
};

struct Unit {
  // Begin and end the computation. Return the same tensors, passed through a node of the graph.
  // Undefined tensors stay undefined.
  std::vector<at::Tensor> enter(std::vector<at::Tensor> tensors, bool recompute) const;
  std::vector<at::Tensor> leave(std::vector<at::Tensor> tensors, bool recompute) const;

  std::shared_ptr<UnitHook> hook;
};

// A place in the model where parameters are used. A weight with several uses
// belongs to the unit of the first one.
struct UnitUse {
  std::string name;
  Unit* unit = nullptr;
  std::vector<at::Tensor> weights;
  bool reads_values_in_backward = true;  // false for an embedding
};

}  // namespace d9d
