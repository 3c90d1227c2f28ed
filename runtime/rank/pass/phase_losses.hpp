#pragma once
// Calls the task for the last stage of a rank, by phase (step_phases.hpp): for the loss of a microbatch
// that trains, and for the tensors that a forward phase carries over to later phases. Use it on the
// stage's compute thread. Needs torch.

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/job/step_phases.hpp"
#include "runtime/metric/compose.hpp"
#include "runtime/pipeline/stage/stage_core_options.hpp"
#include "runtime/task/task.hpp"

namespace d9d {

struct PhaseLossesOptions {
  std::shared_ptr<const TrainTask> task;
  StepPhases phases;
  bool counts_loss = true;     // true on one of the ranks that compute the same loss of the same samples
  Compose* metrics = nullptr;  // the task's metrics; on a rank that does not count its loss they are dropped
  std::shared_ptr<Device> device = cpu_device();
  std::string name = {};  // of a plugin's task, for errors; empty: built in
};

class PhaseLosses {
 public:
  explicit PhaseLosses(PhaseLossesOptions options) : options_(std::move(options)) {}

  // Sets forward_only of the microbatches of an update of the step, which come phase after phase, equally many in each.
  // Returns how many are forward only. It is a bug when the phases do not divide the number of microbatches.
  int begin(int update, std::vector<MicrobatchTensors>& microbatches);
  StageLoss compute(const LastStageOutputs& outputs);
  void carry(const LastStageOutputs& outputs);
  // Drops the carried tensors with the last update. On a device metrics are updated here, from copies on the host,
  // because an update inside an action would wait for the device.
  void end();

 private:
  struct Place {
    int phase, microbatch;
  };
  struct Counted {
    std::uint64_t step;
    Place place;
    TensorMap outputs, state;
    Loss loss;
  };
  Place place(const LastStageOutputs& outputs) const {
    return {options_.phases.begin_of(update_) + outputs.microbatch / per_phase_,
            outputs.microbatch % per_phase_};
  }
  std::vector<TensorMap>& carried(int phase) {
    return carried_.at(static_cast<std::size_t>(options_.phases[phase].batch));
  }

  LossContext context(std::uint64_t step, Place place, const TensorMap& outputs, const TensorMap& state);
  void count_later(const LastStageOutputs& outputs, const Loss& loss);
  void count(const LossContext& context, const Loss& loss);
  void update_metrics(const LossContext& context);

  const PhaseLossesOptions options_;
  int update_ = 0;               // in work
  int per_phase_ = 1;            // microbatches
  bool counts_no_more_ = false;  // the task's update_metrics has thrown
  std::vector<Counted> later_;
  Event copied_;                                 // recorded when the copies of later_ are on the host
  std::vector<std::vector<TensorMap>> carried_;  // by batch and microbatch; empty without forward phases
};

// The name of a phase's loss among the metrics.
std::string phase_loss_name(const StepPhase& phase);
// Declares a weighted mean for each training phase, if there are several phases.
void declare_phase_losses(const StepPhases& phases, Compose& metrics);

}  // namespace d9d
