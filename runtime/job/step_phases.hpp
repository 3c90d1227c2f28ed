#pragma once
// What one step is made of, as data: phases, and the updates of the parameters that they lead to. A phase takes a batch
// of the step's samples through the model with a loss of its own (GAN and contrastive training, distillation), or
// forward alone for what a later phase's loss needs (a reference model's view, targets, embeddings of all
// microbatches). A step has one update as a rule; a GAN has one for each of its two networks, an inner loop several
// over the same samples.
//
// A phase is a label on microbatches of the pipeline program of its update: the forward phases first, then all others
// as one schedule. So phases have no bubble between them, work on every mesh, and gradients of all of them are
// summed, reduced once and scaled once. An update's gradient is that of sum(loss * weight) / sum(weight) over the
// microbatches of its training phases, and the step's loss the same over all training phases; a factor of one phase's
// loss belongs into the loss that the task returns. No torch.

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
  int update =
      0;  // to which it leads. Phases of a later update see what the earlier ones have made of the parameters
};

struct StepUpdate {
  // Patterns of parameter names (train/optimizer/parameter_rules.hpp): those that this update moves. The gradients that
  // others got are dropped before norm and clipping; detach what is not moved to save their computation. Empty: all.
  std::vector<std::string> parameters = {};
  bool operator==(const StepUpdate&) const = default;
};

class StepPhases {
 public:
  // One training phase without a name, and one update.
  StepPhases() : StepPhases(std::vector<StepPhase>{}) {}
  // Of TrainTask::phases() and updates(); empty: as above. Input error: names missing or twice, phases not in the order
  // of their updates, an update without a training phase, a forward phase after a training one of its update (which
  // would see the same weights first), batches or updates not 0, 1, ...
  explicit StepPhases(std::vector<StepPhase> phases, std::vector<StepUpdate> updates = {});

  const StepPhase& operator[](int phase) const { return phases_.at(static_cast<std::size_t>(phase)); }
  int size() const { return static_cast<int>(phases_.size()); }
  int first_training() const { return num_forward(0); }  // its loss is that of evaluations, too
  int num_batches() const { return num_batches_; }
  bool is_plain() const { return size() == 1; }

  int num_updates() const { return static_cast<int>(updates_.size()); }
  const std::vector<StepUpdate>& updates() const { return updates_; }
  // The phases of an update are those from begin to before end.
  int begin_of(int update) const { return begins_.at(static_cast<std::size_t>(update)); }
  int end_of(int update) const { return begins_.at(static_cast<std::size_t>(update) + 1); }
  int num_forward(int update) const { return forwards_.at(static_cast<std::size_t>(update)); }
  int num_training(int update) const { return end_of(update) - begin_of(update) - num_forward(update); }

 private:
  void add_update(int update);

  std::vector<StepPhase> phases_;
  std::vector<StepUpdate> updates_;
  std::vector<int> begins_{0};  // of each update, and the number of phases
  std::vector<int> forwards_;   // of each update
  int num_batches_ = 1;
};

// The updates that move a parameter, ascending.
std::vector<int> updates_that_move(const std::string& parameter, const std::vector<StepUpdate>& updates);

// Input error where the job's batch sizes or its schedule do not fit the phases.
void require_phases(const JobConfig& job, const StepPhases& phases);

}  // namespace d9d
