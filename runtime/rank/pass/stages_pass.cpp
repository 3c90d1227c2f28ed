#include "runtime/rank/pass/stages_pass.hpp"

#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/metric/compose.hpp"
#include "runtime/pipeline/run_instruction.hpp"
#include "runtime/rank/feed/device_inputs.hpp"
#include "runtime/rank/feed/microbatch_parcel.hpp"

namespace d9d {

StagesPass::StagesPass(const PassParts& parts, std::unique_ptr<ActionCursor> cursor, bool follows)
    : parts_(parts),
      order_(
          std::move(cursor), [this](const Action& action) { return core(action.stage).ready(action); },
          follows) {}

StageCore& StagesPass::core(int stage) const {
  const auto found = cores_.find(stage);
  D9D_CHECK(found != cores_.end(), "stage {} does not live on rank {}", stage, parts_.services.rank);
  return *found->second;
}

StageCoreOptions StagesPass::core_options(int stage, std::shared_ptr<StageModule> module) const {
  StageCoreOptions core{.module = std::move(module),
                        .device = parts_.services.device,
                        .stage = stage,
                        .num_stages = parts_.topology.num_stages()};
  core.noise_seed = parts_.noise_seed;
  return core;
}

std::vector<MicrobatchTensors> StagesPass::take_microbatches(const std::vector<Ticket>& tickets,
                                                             Compose& metrics) const {
  std::vector<MicrobatchTensors> tensors;
  tensors.reserve(tickets.size());
  for (const Ticket ticket : tickets) {
    const auto parcel = parts_.services.table->take_as<MicrobatchParcel>(ticket);
    metrics.merge(parcel->counted);
    tensors.push_back(on_device(std::move(parcel->tensors), *parts_.services.device));
  }
  return tensors;
}

void StagesPass::put(const StageTensor& tensor) {
  StageCore& receiver = core(tensor.stage);
  if (tensor.gradient) {
    receiver.put_gradient(tensor.microbatch, tensor.ticket);
  } else {
    receiver.put_activation(tensor.microbatch, tensor.ticket);
  }
}

void StagesPass::pass_on(const StageTensor& tensor, std::vector<StageTensor>& others) {
  if (!tensor.ticket) return;
  if (cores_.contains(tensor.stage)) return put(tensor);
  others.push_back(tensor);
}

// Two lanes may run at once without a lock here: they work on different stages and take turns
// (run_instruction.hpp). If a collective of the device has failed, too, its error is thrown: it is the cause.
std::vector<StageTensor> StagesPass::run(const Instruction& instruction) try {
  const WorkLog::Scope log(parts_.log);
  const std::vector<Action>& actions = instruction.parts;
  std::vector<StageTensor> others;
  const auto hand_over = [&](const Action& action, const ActionResult& result) {
    const auto [stage, microbatch] = after(action);
    pass_on({false, stage, microbatch, result.activation}, others);
    pass_on({true, action.stage - 1, action.microbatch, result.gradient}, others);
  };
  const StageStreams* const streams = parts_.streams;
  std::optional<StageStreams::Fork> fork;
  if (streams != nullptr) fork.emplace(*streams, instruction);
  const auto run_action = [&](const Action& action) {
    const WorkLog::Scope log_of_lane(parts_.log);
    std::optional<StreamScope> scope;
    if (streams != nullptr) scope.emplace(*parts_.services.device, streams->stream_of(action.stage));
    ActionResult result = core(action.stage).run(action);
    if (action.kind != ActionKind::forward) parts_.stages.at(action.stage).units.end_action();
    return result;
  };
  if (actions.size() == 1) {
    hand_over(actions.front(), run_action(actions.front()));
  } else {
    const std::vector<ActionResult> results = run_instruction(instruction, lanes(), run_action);
    for (std::size_t i = 0; i < results.size(); ++i) hand_over(actions[i], results[i]);
  }
  fork.reset();
  parts_.groups.check();
  return others;
} catch (const std::exception&) {
  parts_.groups.check();
  throw;
}

}  // namespace d9d
