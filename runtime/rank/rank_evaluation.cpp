#include "runtime/rank/rank_evaluation.hpp"

#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/device/host_numbers.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/pipeline/order/action_cursor.hpp"
#include "runtime/rank/feed/microbatch_parcel.hpp"
#include "runtime/rank/measured/host_outputs.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/text/prompted_texts.hpp"

namespace d9d {

namespace {

// Repeats the microbatches for each pass. Only the first pass has inputs: those of later
// passes come from the last stage.
std::vector<MicrobatchTensors> in_passes(const std::vector<MicrobatchTensors>& microbatches, int passes) {
  std::vector<MicrobatchTensors> all;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < microbatches.size(); ++i) {
      MicrobatchTensors given{.inputs = {}, .shared = microbatches[i].shared, .state = {}};
      if (pass == 0) given.inputs = microbatches[i].inputs;
      if (pass + 1 == passes) given.state = microbatches[i].state;
      given.shared[pass_number] = at::scalar_tensor(pass, at::kLong);
      given.shared[microbatch_number] = at::scalar_tensor(static_cast<std::int64_t>(i), at::kLong);
      all.push_back(std::move(given));
    }
  }
  return all;
}

}  // namespace

// Uses the static order: without backwards a dynamic one has nothing to choose from.
RankEvaluation::RankEvaluation(RankEvaluationOptions options)
    : options_(std::move(options)),
      order_(make_cursor(CursorOrder::static_, options_.pipeline_rank),
             [this](const Action& action) { return core(action.stage).ready(action); }),
      metrics_(
          [this](Compose& metrics) {
            if (!options_.inference) options_.task->create_metrics(metrics);
          },
          options_.counts_loss) {
  for (const auto& [stage, module] : options_.modules) {
    cores_[stage] = std::make_unique<StageCore>(core_options(stage, module), *options_.table);
  }
}

int RankEvaluation::passes() const {
  return options_.inference ? options_.inference->passes() : 1;
}

std::pair<int, int> RankEvaluation::after(const Action& action) const {
  if (action.stage + 1 < options_.topology.num_stages()) return {action.stage + 1, action.microbatch};
  return {0, action.microbatch + microbatches_};
}

StageCoreOptions RankEvaluation::core_options(int stage, const std::shared_ptr<StageModule>& module) {
  const int num_stages = options_.topology.num_stages();
  const auto running = options_.inference ? options_.inference->running(module, {stage, num_stages}) : module;
  StageCoreOptions core{
      .module = running, .device = options_.device, .stage = stage, .num_stages = num_stages};
  core.noise_seed = options_.noise_seed;
  core.training = false;
  core.passes = passes();
  core.consume_outputs = [this](const LastStageOutputs& outputs) {
    if (options_.inference) {
      hand_over(outputs);
    } else {
      add_loss(outputs);
    }
  };
  return core;
}

void RankEvaluation::add_loss(const LastStageOutputs& outputs) {
  LossContext context{outputs.step, outputs.microbatch, outputs.outputs, outputs.state, options_.phase};
  // Computes the loss of a filler, too, because a task's loss may contain
  // collectives; only its metrics are dropped.
  const bool is_filler = outputs.state.contains(filler_microbatch);
  context.metrics = is_filler ? &metrics_.dropped() : &metrics_.of_losses();
  const Loss loss = options_.task->compute_loss(context);
  if (is_filler) return;
  D9D_REQUIRE(loss.loss.defined() && loss.loss.numel() == 1, "the loss must be a tensor of one element");
  D9D_REQUIRE(std::isfinite(loss.weight) && loss.weight >= 0,
              "the loss has weight {}; expected a number >= 0", loss.weight);
  if (!options_.counts_loss) return;
  const TensorMap here = arrived(host_outputs(outputs.outputs, counted_bytes_max));
  LossContext seen{outputs.step, outputs.microbatch, here, outputs.state, options_.phase};
  seen.metrics = &metrics_.here();
  options_.task->update_metrics(seen, metrics_.here());
  if (loss.weight == 0) return;
  totals_.loss_sum += loss.loss.item().toDouble() * loss.weight;
  totals_.weight_sum += loss.weight;
}

// Waits once for the copies from the device.
TensorMap RankEvaluation::arrived(TensorMap copies) const {
  finish_copies(options_.device->place());
  return copies;
}

// Hands the outputs to the inference task. The step's weight becomes the number of samples.
void RankEvaluation::hand_over(const LastStageOutputs& outputs) {
  if (!options_.counts_loss) return;
  const at::Tensor samples = tensor_at(outputs.state, sample_numbers, "the microbatch's state");
  const TensorMap here = arrived(host_outputs(outputs.outputs));
  InferenceContext context{outputs.step, outputs.microbatch % microbatches_, here, outputs.state, {}};
  const auto* const numbers = samples.const_data_ptr<std::int64_t>();
  context.samples.assign(numbers, numbers + samples.numel());
  call_user("the task's process_outputs", ErrorInside::passes,
            [&] { options_.inference->process_outputs(context); });
  totals_.weight_sum += static_cast<double>(
      std::count_if(context.samples.begin(), context.samples.end(), [](std::int64_t n) { return n >= 0; }));
}

void RankEvaluation::begin(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches) {
  totals_ = {};
  microbatches_ = static_cast<int>(microbatches.size());
  const auto of_all_passes = passes() == 1 ? microbatches : in_passes(microbatches, passes());
  for (auto& [stage, core] : cores_) core->begin_step(step, of_all_passes);
  auto& program = programs_[microbatches.size()];
  if (!program) {
    program = std::make_shared<const PipelineProgram>(in_passes(
        complete_program(build_forward(options_.topology, microbatches_), options_.topology, microbatches_),
        passes()));
  }
  order_.begin_step(step, program);
}

StepTotals RankEvaluation::finish() {
  for (auto& [stage, core] : cores_) core->finish_step();
  return std::exchange(totals_, {});
}

namespace {

std::shared_ptr<PromptedTexts> prompted_on(const Plan& plan, int stages, TextRequest request) {
  const DeviceMeshParameters& mesh = plan.parameters();
  D9D_REQUIRE(mesh.context_parallel() == 1,
              "an actor asks for texts, and ranks that share sequences cannot generate; set the job's "
              "context_parallel degrees to 1");
  request.options.in_step = mesh.data_parallel_shard > 1 || mesh.expert_parallel > 1;
  return std::make_shared<PromptedTexts>(std::move(request), stages);
}

}  // namespace

RankTexts::RankTexts(RankEvaluationOptions stages, const Plan& plan, int rank, TextRequest request)
    : prompted_(prompted_on(plan, stages.topology.num_stages(), std::move(request))),
      takes_(plan.placement(rank).data == 0) {
  stages.inference = prompted_;
  evaluation_ = std::make_unique<RankEvaluation>(std::move(stages));
}

Texts RankTexts::take() {
  return takes_ ? prompted_->take() : Texts();
}

void RankTexts::begin(std::uint64_t step) {
  std::vector<MicrobatchTensors> microbatches;
  for (ForwardInputs& made : prompted_->microbatches())
    microbatches.push_back({std::move(made.inputs), std::move(made.shared), std::move(made.state)});
  evaluation_->begin(step, microbatches);
}

}  // namespace d9d
