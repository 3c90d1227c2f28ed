#pragma once
// An inference task where a rank's actors expect a task: they make inputs, keep state and end with it in the same way.

#include <memory>

#include "runtime/task/inference_task.hpp"

namespace d9d {

// Its compute_loss is never called.
std::shared_ptr<TrainTask> as_task(std::shared_ptr<InferenceTask> inference);

}  // namespace d9d
