#pragma once
// Where a model says which of its parts come and go together: a Unit around the computation of a layer (or
// any part that owns parameters) tells whoever hooked in when its parameters are about to be used and when
// they are not needed any more, in forward and in backward. Without a hook it does nothing.
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
  // Not called where none of the entering tensors wants a gradient.
  virtual void after_backward() = 0;
};

struct Unit {
  // The same tensors, through a node of the graph. An undefined tensor stays so.
  std::vector<at::Tensor> enter(std::vector<at::Tensor> tensors, bool recompute) const;
  std::vector<at::Tensor> leave(std::vector<at::Tensor> tensors, bool recompute) const;

  std::shared_ptr<UnitHook> hook;
};

// A place of the model where parameters are used. A weight of several uses belongs to the first.
struct UnitUse {
  std::string name;
  Unit* unit = nullptr;
  std::vector<at::Tensor> weights;
  bool reads_values_in_backward = true;  // not so an embedding's
};

}  // namespace d9d
