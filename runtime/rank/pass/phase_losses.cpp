#include "runtime/rank/pass/phase_losses.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/shortened.hpp"
#include "runtime/device/host_numbers.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/rank/measured/host_outputs.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
int PhaseLosses::begin(int update, std::vector<MicrobatchTensors>& microbatches) {
  const StepPhases& phases = options_.phases;
  const int count = static_cast<int>(microbatches.size());
  const int size = phases.end_of(update) - phases.begin_of(update);
  D9D_CHECK(count > 0 && count % size == 0, "{} microbatches of {} phases", count, size);
  update_ = update;
  per_phase_ = count / size;
  const int forwards = phases.num_forward(update) * per_phase_;
  for (int i = 0; i < forwards; ++i) microbatches[static_cast<std::size_t>(i)].forward_only = true;
  if (forwards > 0 && carried_.empty()) {
    carried_.assign(static_cast<std::size_t>(phases.num_batches()),
                    std::vector<TensorMap>(static_cast<std::size_t>(per_phase_)));
  }
  return forwards;
}

StageLoss PhaseLosses::compute(const LastStageOutputs& outputs) {
  const LossContext seen = context(outputs.step, place(outputs), outputs.outputs, outputs.state);
  const auto compute = [&] { return options_.task->compute_loss(seen); };
  const Loss loss = options_.name.empty()
                        ? compute()
                        : call_user(fmt::format("compute_loss of the task \"{}\"", options_.name),
                                    ErrorInside::is_named, compute);
  if (options_.counts_loss) options_.device->is_cpu() ? count(seen, loss) : count_later(outputs, loss);
  return {loss.loss, loss.weight};
}

LossContext PhaseLosses::context(std::uint64_t step, Place place, const TensorMap& outputs,
                                 const TensorMap& state) {
  LossContext context{step, place.microbatch, outputs, state, place.phase};
  if (!carried_.empty()) context.carried = carried(place.phase);
  context.metrics = options_.metrics;
  return context;
}

void PhaseLosses::count(const LossContext& context, const Loss& loss) {
  update_metrics(context);
  if (options_.phases.is_plain() || !loss.loss.defined() || loss.loss.numel() != 1) return;
  options_.metrics->get<WeightedMean>(phase_loss_name(options_.phases[context.phase]))
      .update(loss.loss.item().toDouble(), loss.weight);
}

// Metrics are numbers for people, so training goes on when a plugin's update throws;
// its metrics are no longer updated.
void PhaseLosses::update_metrics(const LossContext& context) {
  if (counts_no_more_) return;
  try {
    options_.task->update_metrics(context, *options_.metrics);
  } catch (...) {
    if (options_.name.empty()) throw;
    counts_no_more_ = true;
    log::warn(
        "update_metrics of the task \"{}\" threw in step {}, microbatch {}: {}. This rank no longer updates "
        "the task's metrics; training goes on",
        options_.name, context.step, context.microbatch, shortened(describe_current_exception().what));
  }
}

void PhaseLosses::count_later(const LastStageOutputs& outputs, const Loss& loss) {
  Counted counted{outputs.step,
                  place(outputs),
                  host_outputs(outputs.outputs, counted_bytes_max),
                  outputs.state,
                  {{}, loss.weight}};
  if (loss.loss.defined()) counted.loss.loss = copy_later(loss.loss);
  later_.push_back(std::move(counted));
  copied_ = options_.device->record();
}

void PhaseLosses::end() {
  copied_.wait("metrics");
  for (const Counted& counted : later_)
    count(context(counted.step, counted.place, counted.outputs, counted.state), counted.loss);
  later_.clear();
  if (update_ + 1 == options_.phases.num_updates()) carried_.clear();
}

void PhaseLosses::carry(const LastStageOutputs& outputs) {
  const auto [phase, microbatch] = place(outputs);
  std::vector<TensorMap>& slots = carried(phase);
  TensorMap& slot = slots.at(static_cast<std::size_t>(microbatch));
  call_user("the task's carry", ErrorInside::bug_is_named, [&] {
    options_.task->carry(
        {outputs.step, microbatch, outputs.outputs, outputs.state, phase, slots, options_.metrics}, slot);
  });
  for (auto& [name, tensor] : slot) tensor = tensor.detach();
}

std::string phase_loss_name(const StepPhase& phase) {
  return "loss_of/" + phase.name;
}

void declare_phase_losses(const StepPhases& phases, Compose& metrics) {
  if (phases.is_plain()) return;
  for (int i = 0; i < phases.size(); ++i) {
    if (phases[i].kind == PhaseKind::train)
      metrics.add(phase_loss_name(phases[i]), std::make_unique<WeightedMean>());
  }
}

}  // namespace d9d
