#pragma once
// Adds up the gradients of weights that the first and the last stage of a pipeline share (tensor/tied.hpp).
// Each stage computes the gradient of its own use of the weight: as the embedding, or as the head.

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/train/flat_parameters.hpp"

namespace d9d {

class Communicator;

class TiedGradients {
 public:
  // `open_other`: opens a communicator with the rank that holds the other copies; called when this rank has
  // trainable copies of one stage only. Input error when this rank has the copies of both stages and they
  // differ in size, dtype or in what trains.
  TiedGradients(const FlatParameters& parameters,
                const std::function<std::shared_ptr<Communicator>()>& open_other);

  // Replaces both copies' gradients by their sum, with the same bits. Call it on both ranks, after
  // all other reductions of the step.
  void sum() const;

 private:
  std::array<std::vector<at::Tensor>, 2> copies_;  // flat gradients, in the order of the parameters
  std::shared_ptr<Communicator> other_;            // null when this rank holds both copies, or none
};

}  // namespace d9d
