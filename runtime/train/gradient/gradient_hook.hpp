#pragma once
// A gradient hook of users' code: sees, and may change, the gradients of a step after their reduction and before norm,
// clipping and update; or says that the step makes no update. A step in which no label counts has none. Named in the job file under `gradient_hooks`, each
// called in that order. Without one a step costs nothing more.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor/layout.hpp"

namespace d9d {

class Compose;  // metric/compose.hpp

// The gradient of one trainable parameter as far as this rank holds it. Replicated parameters (data and pipeline
// replicas, most of those of tensor parallelism) are on several ranks with the same bits: a hook has to do the same to
// each copy. Of sharded ones (FSDP, tensor and expert parallelism) each rank sees its block only.
struct NamedGradient {
  const std::string& name;  // global: the same on every mesh
  const Layout& layout;     // global_shape(); local_slice(): which block `gradient` is
  at::Tensor value;         // the parameter's block; not for writing
  at::Tensor gradient;  // the mean over the step's weights, in gradient_manager.grad_dtype; write in place
};

struct GradientContext {
  std::uint64_t step = 0;
  std::uint64_t seed =
      0;            // of the job, for draws by RandomStream that are the same on each mesh and after a resume
  double loss = 0;  // of the step, over all ranks; may be infinite or NaN, as gradients then are
  std::vector<NamedGradient> gradients;  // of this rank's stages, in the order of the model's definition
  // What the job's task and the hooks declare; counts on each rank: a mean of what all copies of a gradient say is
  // that of one of them, a sum has each copy. Null only where a test makes this context.
  Compose* metrics = nullptr;
};

enum class HookVerdict { update, skip };

class GradientHook {
 public:
  virtual ~GradientHook() = default;
  // Declares metrics, as TrainTask::create_metrics: the same on every rank, under names that the task does not take.
  virtual void create_metrics(Compose& /*metrics*/) const {}
  // On the compute thread of every rank. If any hook of any rank says skip, the step makes no update on any rank and
  // counts as skipped. A hook keeps no state in checkpoints: what it does must follow from the context, or a resumed
  // job goes another way. An exception ends the job with its text.
  virtual HookVerdict gradients_reduced(const GradientContext& context) = 0;
};

}  // namespace d9d
