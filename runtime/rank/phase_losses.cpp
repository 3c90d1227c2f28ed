#include "runtime/rank/phase_losses.hpp"

#include "runtime/base/error.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/task/task.hpp"

namespace d9d {

int PhaseLosses::begin_step(std::vector<MicrobatchTensors>& microbatches) {
  const StepPhases& phases = options_.phases;
  const int count = static_cast<int>(microbatches.size());
  D9D_CHECK(count > 0 && count % phases.size() == 0, "{} microbatches of {} phases", count, phases.size());
  per_phase_ = count / phases.size();
  const int forwards = phases.num_forward() * per_phase_;
  for (int i = 0; i < forwards; ++i) microbatches[static_cast<std::size_t>(i)].forward_only = true;
  carried_.clear();
  if (forwards > 0) {
    carried_.assign(static_cast<std::size_t>(phases.num_batches()),
                    std::vector<TensorMap>(static_cast<std::size_t>(per_phase_)));
  }
  return forwards;
}

StageLoss PhaseLosses::compute(const LastStageOutputs& outputs) {
  const auto [phase, microbatch] = place(outputs);
  LossContext context{outputs.step, microbatch, outputs.outputs, outputs.state, phase};
  if (!carried_.empty()) context.carried = carried(phase);
  const Loss loss = options_.task->compute_loss(context);
  if (options_.counts_loss) {
    options_.task->update_metrics(context, *options_.metrics);
    if (!options_.phases.is_plain() && loss.loss.defined() && loss.loss.numel() == 1) {
      options_.metrics->get<WeightedMean>(phase_loss_name(options_.phases[phase]))
          .update(loss.loss.item().toDouble(), loss.weight);
    }
  }
  return {loss.loss, loss.weight};
}

void PhaseLosses::carry(const LastStageOutputs& outputs) {
  const auto [phase, microbatch] = place(outputs);
  std::vector<TensorMap>& slots = carried(phase);
  TensorMap& slot = slots.at(static_cast<std::size_t>(microbatch));
  options_.task->carry({outputs.step, microbatch, outputs.outputs, outputs.state, phase, slots}, slot);
  for (auto& [name, tensor] : slot) tensor = tensor.detach();
}

std::string phase_loss_name(const StepPhase& phase) {
  return "loss_of/" + phase.name;
}

void declare_phase_losses(const StepPhases& phases, Compose& metrics) {
  if (phases.is_plain()) return;
  for (int phase = phases.first_training(); phase < phases.size(); ++phase)
    metrics.add(phase_loss_name(phases[phase]), std::make_unique<WeightedMean>());
}

}  // namespace d9d
