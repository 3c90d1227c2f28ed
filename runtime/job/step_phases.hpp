#pragma once
// What one step is made of before its single update: a list of phases, as data. Each phase takes a batch of the
// step's samples through the model with a loss of its own (GAN and contrastive training, distillation), or forward
// alone for what a later phase's loss needs (a reference model's view, targets, embeddings of all microbatches).
//
// A phase is a label on microbatches of the step's one pipeline program: the forward phases first, then all others
// as one schedule. So phases have no bubble between them, work on every mesh, and gradients of all of them are
// summed, reduced once and scaled once. The step's loss is sum(loss * weight) / sum(weight) over the microbatches of
// all training phases; a factor of one phase's loss belongs into the loss that the task returns. No torch.

#include <cstdint>
#include <string>
#include <vector>

namespace d9d {

struct JobConfig;

enum class PhaseKind {
  train,  // forward, the task's compute_loss, backward
  forward,  // forward without a graph, in evaluation mode; the last stage hands its outputs to the task's carry()
};

struct StepPhase {
  std::string name;  // of its loss among the metrics: `loss_of/NAME`
  PhaseKind kind = PhaseKind::train;
  // Which samples. The step's samples (global_batch_size) are cut into as many equal parts as there are numbers,
  // in their order; phases with the same number see the same samples in the same microbatches.
  int batch = 0;
};

class StepPhases {
 public:
  // One training phase without a name.
  StepPhases() : phases_(1) {}
  // Of TrainTask::phases(); empty: as above. Input error: names missing or twice, no training phase, a forward phase
  // behind a training one (the update comes last, so it would see the same weights first), batches not 0, 1, ...
  explicit StepPhases(std::vector<StepPhase> phases);

  const StepPhase& operator[](int phase) const { return phases_.at(static_cast<std::size_t>(phase)); }
  int size() const { return static_cast<int>(phases_.size()); }
  int num_forward() const { return num_forward_; }
  int first_training() const { return num_forward_; }  // its loss is that of evaluations, too
  int num_batches() const { return num_batches_; }
  bool is_plain() const { return size() == 1; }

 private:
  std::vector<StepPhase> phases_;
  int num_forward_ = 0;
  int num_batches_ = 1;
};

// Input error where the job's batch sizes or its schedule do not fit the phases.
void require_phases(const JobConfig& job, const StepPhases& phases);

}  // namespace d9d
