#include "actors/job/process/table_slots.hpp"

#include <algorithm>

#include "actors/notes/evaluation_run.hpp"

namespace d9d {

std::size_t table_slots_of_a_rank(const TableUse& use) {
  const std::size_t snapshots = 2;
  std::size_t inputs = use.prefetch_steps + 1;  // steps: the one that waits and those loaded ahead
  std::size_t tensors = 4;                      // activations and gradients, both ways
  if (use.evaluation_ahead) {
    // The inputs of the steps after it stay where they are while an evaluation loads its own.
    inputs += 1 + EvaluationRun::loaded_ahead;
    // Without backwards the first stage runs ahead: so many batches of activations come early, or wait to be sent.
    // Gradients of the step before are gone, because an evaluation begins after the reduction of that step.
    tensors = std::max(tensors, 2 * (*use.evaluation_ahead + 1));
  }
  return use.microbatches * (inputs + tensors * use.stages) + snapshots;
}

}  // namespace d9d
