#include "runtime/pipeline/microbatch.hpp"

#include <torch/csrc/autograd/engine.h>

namespace d9d {

void run_backward(const std::vector<Root>& roots) {
  torch::autograd::edge_list edges;
  torch::autograd::variable_list gradients;
  for (const Root& root : roots) {
    edges.push_back(root.edge);
    gradients.push_back(root.gradient);
  }
  if (edges.empty()) return;  // nothing below is trainable
  torch::autograd::Engine::get_default_engine().execute(edges, gradients, /*keep_graph=*/false,
                                                        /*create_graph=*/false, /*accumulate_grad=*/true);
}

}  // namespace d9d
