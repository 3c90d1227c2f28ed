#pragma once
// Finds the parameters whose gradients a split backward already computes in I, because an operator that uses
// them cannot leave them to W, and names that operator. Internal to the stage core; needs torch.
//
// How: a hook behind the AccumulateGrad node of each trainable parameter. Of what is left to W it gets no
// gradient, of all else it does; the operators are those with an edge to it.

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace torch::autograd {
struct Node;
}

namespace d9d {

class SplitWatch {
 public:
  using Nodes = std::vector<std::shared_ptr<torch::autograd::Node>>;

  // Before the backward from `roots`; one backward is watched.
  SplitWatch(const std::vector<StageParameter>& parameters, const Nodes& roots);
  ~SplitWatch();
  SplitWatch(const SplitWatch&) = delete;
  SplitWatch& operator=(const SplitWatch&) = delete;

  struct Found {
    std::size_t parameter;  // index into `parameters`
    std::string nodes;      // of autograd, as it prints them; several parted by ", "
  };
  // After the backward, in the order of the parameters.
  std::vector<Found> not_split() const;

 private:
  struct Entry {
    std::shared_ptr<torch::autograd::Node> accumulator;
    std::uintptr_t hook = 0;
    Found found;
    bool got_gradient = false;
  };
  void name_users(const Nodes& roots);

  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace d9d
