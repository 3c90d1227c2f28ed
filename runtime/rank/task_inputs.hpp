#pragma once
// Packs become model inputs through the task. No torch in this header.

#include <memory>

#include "runtime/rank/input_builder.hpp"

namespace d9d {

class TrainTask;
struct ContextPlace;

// The task sees this rank's tokens only, `place` says which. `table` outlives the builder.
std::unique_ptr<InputBuilder> make_task_inputs(std::shared_ptr<const TrainTask> task,
                                               const ContextPlace& place, TensorTable& table);

}  // namespace d9d
