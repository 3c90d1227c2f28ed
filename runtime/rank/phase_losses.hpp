#pragma once
// What the last stage of a rank asks the task for in a step, by phase (step_phases.hpp): the loss of a microbatch
// that trains, and what a forward phase leaves for later ones. Used on the stage's compute thread. Needs torch.

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
  bool counts_loss = true;  // one of the ranks that compute the same loss of the same samples does
  Compose* metrics =
      nullptr;  // what the task counts; what is counted on a rank that does not count is dropped
  std::shared_ptr<Device> device = cpu_device();
  std::string name = {};  // of a plugin's task, for errors; empty: built in
};

class PhaseLosses {
 public:
  explicit PhaseLosses(PhaseLossesOptions options) : options_(std::move(options)) {}

  // The step's microbatches lie phase after phase, as many in each: sets forward_only of them. Returns how many of
  // them are. A number that the phases do not divide is a bug.
  int begin_step(std::vector<MicrobatchTensors>& microbatches);
  StageLoss compute(const LastStageOutputs& outputs);
  void carry(const LastStageOutputs& outputs);
  // Drops what was carried. On a device other than the CPU metrics are counted here, from copies on the host, because
  // an update inside an action would wait for the device.
  void end_step();

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
    return {outputs.microbatch / per_phase_, outputs.microbatch % per_phase_};
  }
  std::vector<TensorMap>& carried(int phase) {
    return carried_.at(static_cast<std::size_t>(options_.phases[phase].batch));
  }

  LossContext context(std::uint64_t step, Place place, const TensorMap& outputs, const TensorMap& state);
  void count_later(const LastStageOutputs& outputs, const Loss& loss);
  void count(const LossContext& context, const Loss& loss);
  void update_metrics(const LossContext& context);

  const PhaseLossesOptions options_;
  int per_phase_ = 1;            // microbatches
  bool counts_no_more_ = false;  // the task's update_metrics has thrown
  std::vector<Counted> later_;
  Event copied_;                                 // what later_ has is on the host
  std::vector<std::vector<TensorMap>> carried_;  // by batch and microbatch; empty without forward phases
};

// The name of a phase's loss among the metrics.
std::string phase_loss_name(const StepPhase& phase);
// A weighted mean for each training phase, where there are several phases.
void declare_phase_losses(const StepPhases& phases, Compose& metrics);

}  // namespace d9d
