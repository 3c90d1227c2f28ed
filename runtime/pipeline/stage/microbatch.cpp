#include "runtime/pipeline/stage/microbatch.hpp"

#include <utility>

namespace d9d {

void run_backward(Microbatch& mb) {
  std::vector<kernels::BackwardRoot> roots;
  for (Root& root : std::exchange(mb.roots, {})) roots.push_back(std::move(root.at));
  std::vector<at::Tensor> inputs;
  for (const auto& [name, leaf] : mb.leaves) inputs.push_back(leaf);
  kernels::run_backward(roots, inputs, mb.work.get());
}

}  // namespace d9d
