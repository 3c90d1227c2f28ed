#pragma once
// A gradient hook is users' code that reads, and may change, the gradients of a step: after their
// reduction, before norm, clipping and update. It may also refuse the update. The job file names hooks
// under `gradient_hooks`; they are called in that order, but not in a step in which no label counts. A
// job without hooks pays nothing.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor/layout.hpp"

namespace d9d {

class Compose;  // metric/compose.hpp

// This rank's part of the gradient of one trainable parameter. Replicated parameters (of data and
// pipeline replicas, and most of those in tensor parallelism) have the same bits on several
// ranks; a hook must change all copies alike. Of sharded parameters (FSDP, tensor and expert
// parallelism) each rank sees only its block.
struct NamedGradient {
  const std::string& name;  // global: the same on every mesh
  const Layout& layout;     // global_shape(); local_slice() is the block of `gradient`
  at::Tensor value;         // the parameter's block; do not write to it
  at::Tensor gradient;  // the mean over the step's weights, in gradient_manager.grad_dtype; write in place
};

struct GradientContext {
  std::uint64_t step = 0;
  int update = 0;          // of a step with several (job/step_phases.hpp)
  std::uint64_t seed = 0;  // of the job; use it with RandomStream for numbers that repeat on any mesh
  double loss = 0;  // of the update, over all ranks; may be infinite or NaN, and gradients then are, too
  // Of this rank's stages, in the order of the model's definition, without those that the update does not move.
  std::vector<NamedGradient> gradients;
  // The metrics that the job's task and the hooks declare. Every rank counts: a mean over all copies of a
  // gradient equals that of one copy, but a sum contains each copy. Null only in tests.
  Compose* metrics = nullptr;
};

enum class HookVerdict { update, skip };

class GradientHook {
 public:
  virtual ~GradientHook() = default;
  // Declares metrics, as TrainTask::create_metrics. They must be the same on every rank, with
  // names that the task does not use.
  virtual void create_metrics(Compose& /*metrics*/) const {}
  // Called on the compute thread of every rank. If any hook of any rank returns skip, no rank makes an
  // update and the step counts as skipped. Checkpoints hold no state of hooks: base decisions on the context
  // alone, or a resumed job computes something else. An exception ends the job with its text.
  virtual HookVerdict gradients_reduced(const GradientContext& context) = 0;
};

}  // namespace d9d
