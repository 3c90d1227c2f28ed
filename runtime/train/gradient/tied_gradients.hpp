#pragma once
// The gradients of weights that the first and the last stage of a pipeline share (tensor/tied.hpp). Each
// stage finds the gradient of its own use of the weight: of the embedding, of the head.

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/train/flat_parameters.hpp"

namespace d9d {

class Communicator;

class TiedGradients {
 public:
  // `open_other`: to the rank that holds the other copies of what this one holds; called where this rank has
  // trainable copies of one stage only. Input error where the copies of both stages are here and not alike.
  TiedGradients(const FlatParameters& parameters,
                const std::function<std::shared_ptr<Communicator>()>& open_other);

  // Makes both copies' gradients their sum, with the same bits. Call it on both ranks, when all other
  // reductions of the step are done.
  void sum() const;

 private:
  std::array<std::vector<at::Tensor>, 2> copies_;  // flat gradients, in the order of the parameters
  std::shared_ptr<Communicator> other_;            // null where this rank holds both copies, or none
};

}  // namespace d9d
