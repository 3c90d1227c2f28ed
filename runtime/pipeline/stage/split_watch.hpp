#pragma once
// Finds the parameters whose gradients a split backward computes in I already, because an operator that uses
// them cannot defer them to W, and names that operator. Internal to the stage core; needs torch.
//
// It puts a hook after the AccumulateGrad node of each trainable parameter. The hook sees no
// gradient when all of it was deferred to W, and sees one when an operator computed it in I. This
// operator has an edge to the node.

#include <memory>
#include <string>
#include <vector>

#include "kernels/graph/node_pointer.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

class SplitWatch {
 public:
  using Nodes = std::vector<kernels::NodePointer<torch::autograd::Node>>;

  // Watches one backward. Construct it before the backward from `roots`.
  SplitWatch(const std::vector<StageParameter>& parameters, const Nodes& roots);
  ~SplitWatch();
  SplitWatch(const SplitWatch&) = delete;
  SplitWatch& operator=(const SplitWatch&) = delete;

  struct Found {
    std::size_t parameter;  // index into `parameters`
    std::string nodes;      // the names of autograd nodes, separated by ", "
  };
  // Call it after the backward. The results are in the order of the parameters.
  std::vector<Found> not_split() const;

 private:
  struct Entry {
    kernels::NodePointer<torch::autograd::Node> accumulator;
    std::uintptr_t hook = 0;
    Found found;
    bool got_gradient = false;
  };
  void name_users(const Nodes& roots);

  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace d9d
