// Passes that run the stages forward alone: of samples, and of texts.
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/device/host_numbers.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/pipeline/order/action_cursor.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/rank/feed/microbatch_parcel.hpp"
#include "runtime/rank/measured/host_outputs.hpp"
#include "runtime/rank/measured/rank_metrics.hpp"
#include "runtime/rank/pass/stages_pass.hpp"
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

// Uses the static order: without backwards a dynamic one has nothing to choose from.
class ForwardPass : public StagesPass {
 public:
  ForwardPass(const PassParts& parts, SampleWork work)
      : StagesPass(parts, make_cursor(CursorOrder::static_, parts.pipeline_rank)),
        work_(std::move(work)),
        metrics_(
            [this](Compose& metrics) {
              if (work_.task) declare_task_metrics(*work_.task, metrics);
            },
            parts.counts_loss) {
    if (work_.task || work_.inference) make_cores(work_.inference);
  }

  void begin(const PassRequest& request) override {
    parts_.copies.before_buffers_change();
    begin_forward(request.step, take_microbatches(request.microbatches, metrics_.here()));
  }
  std::vector<double> take_metrics() override { return metrics_.take(); }

 protected:
  PassResult end() override;
  std::pair<int, int> after(const Action& action) const override {
    if (action.stage + 1 < parts_.topology.num_stages()) return {action.stage + 1, action.microbatch};
    return {0, action.microbatch + microbatches_};
  }

  void make_cores(std::shared_ptr<InferenceTask> inference);
  void begin_forward(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches);
  void drop_cores() {
    cores_.clear();
    programs_.clear();
    work_.inference = nullptr;
  }

 private:
  int passes() const { return work_.inference ? work_.inference->passes() : 1; }
  void add_loss(const LastStageOutputs& outputs);
  void hand_over(const LastStageOutputs& outputs);
  TensorMap arrived(TensorMap copies) const;

  SampleWork work_;
  RankMetrics metrics_;
  StepTotals totals_;
  int microbatches_ = 0;                                                    // of the step's pack
  std::map<std::size_t, std::shared_ptr<const PipelineProgram>> programs_;  // by microbatches
};

// Owns the caches for one request at a time.
class TextsPass final : public ForwardPass {
 public:
  explicit TextsPass(const PassParts& parts) : ForwardPass(parts, {}) {}
  void begin(const PassRequest& request) override;

 private:
  PassResult end() override;

  std::shared_ptr<PromptedTexts> prompted_;
  bool of_replica_ = false;
};

void ForwardPass::make_cores(std::shared_ptr<InferenceTask> inference) {
  work_.inference = std::move(inference);
  for (const auto& [stage, built] : parts_.stages) {
    StageCoreOptions core = core_options(stage, built.module);
    if (work_.inference) core.module = work_.inference->running(built.module, {stage, core.num_stages});
    core.training = false;
    core.passes = passes();
    core.consume_outputs = [this](const LastStageOutputs& outputs) {
      if (work_.inference) {
        hand_over(outputs);
      } else {
        add_loss(outputs);
      }
    };
    cores_[stage] = std::make_unique<StageCore>(std::move(core), *parts_.services.table);
  }
}

void ForwardPass::add_loss(const LastStageOutputs& outputs) {
  LossContext context{outputs.step, outputs.microbatch, outputs.outputs, outputs.state, work_.phase};
  // Computes the loss of a filler, too, because a task's loss may contain
  // collectives; only its metrics are dropped.
  const bool is_filler = outputs.state.contains(filler_microbatch);
  context.metrics = is_filler ? &metrics_.dropped() : &metrics_.of_losses();
  const Loss loss = work_.task->compute_loss(context);
  if (is_filler) return;
  D9D_REQUIRE(loss.loss.defined() && loss.loss.numel() == 1, "the loss must be a tensor of one element");
  D9D_REQUIRE(std::isfinite(loss.weight) && loss.weight >= 0,
              "the loss has weight {}; expected a number >= 0", loss.weight);
  if (!parts_.counts_loss) return;
  const TensorMap here = arrived(host_outputs(outputs.outputs, counted_bytes_max));
  LossContext seen{outputs.step, outputs.microbatch, here, outputs.state, work_.phase};
  seen.metrics = &metrics_.here();
  work_.task->update_metrics(seen, metrics_.here());
  if (loss.weight == 0) return;
  totals_.loss_sum += loss.loss.item().toDouble() * loss.weight;
  totals_.weight_sum += loss.weight;
}

// Waits once for the copies from the device.
TensorMap ForwardPass::arrived(TensorMap copies) const {
  finish_copies(parts_.services.device->place());
  return copies;
}

// Hands the outputs to the inference task. The step's weight becomes the number of samples.
void ForwardPass::hand_over(const LastStageOutputs& outputs) {
  if (!parts_.counts_loss) return;
  const at::Tensor samples = tensor_at(outputs.state, sample_numbers, "the microbatch's state");
  const TensorMap here = arrived(host_outputs(outputs.outputs));
  InferenceContext context{outputs.step, outputs.microbatch % microbatches_, here, outputs.state, {}};
  const auto* const numbers = samples.const_data_ptr<std::int64_t>();
  context.samples.assign(numbers, numbers + samples.numel());
  call_user("the task's process_outputs", ErrorInside::passes,
            [&] { work_.inference->process_outputs(context); });
  totals_.weight_sum += static_cast<double>(
      std::count_if(context.samples.begin(), context.samples.end(), [](std::int64_t n) { return n >= 0; }));
}

void ForwardPass::begin_forward(std::uint64_t step, const std::vector<MicrobatchTensors>& microbatches) {
  totals_ = {};
  microbatches_ = static_cast<int>(microbatches.size());
  const auto of_all_passes = passes() == 1 ? microbatches : in_passes(microbatches, passes());
  for (auto& [stage, core] : cores_) core->begin_step(step, of_all_passes);
  auto& program = programs_[microbatches.size()];
  if (!program) {
    program = std::make_shared<const PipelineProgram>(in_passes(
        complete_program(build_forward(parts_.topology, microbatches_), parts_.topology, microbatches_),
        passes()));
  }
  order_.begin_step({step}, program);
}

// Frees the units that the pass has gathered, and requests those with which the next step begins.
PassResult ForwardPass::end() {
  for (auto& [stage, core] : cores_) core->finish_step();
  for (const auto& [stage, built] : parts_.stages) {
    built.units.end_step();
    built.units.after_update();
  }
  return {std::exchange(totals_, {})};
}

void TextsPass::begin(const PassRequest& request) {
  parts_.copies.before_buffers_change();
  const DeviceMeshParameters& mesh = parts_.services.plan->parameters();
  D9D_REQUIRE(mesh.context_parallel() == 1,
              "the model is asked for texts, and ranks that share sequences cannot generate; set the job's "
              "context_parallel degrees to 1");
  TextRequest texts = request.texts;
  of_replica_ = texts.of_replica;
  texts.options.in_step = mesh.data_parallel_shard > 1 || mesh.expert_parallel > 1;
  prompted_ = std::make_shared<PromptedTexts>(std::move(texts), parts_.topology.num_stages());
  make_cores(prompted_);
  std::vector<MicrobatchTensors> microbatches;
  for (ForwardInputs& made : prompted_->microbatches())
    microbatches.push_back({std::move(made.inputs), std::move(made.shared), std::move(made.state)});
  begin_forward(request.step, microbatches);
}

PassResult TextsPass::end() {
  PassResult result = ForwardPass::end();
  if (of_replica_ || parts_.services.place().data == 0) result.texts = prompted_->take();
  drop_cores();
  prompted_ = nullptr;
  return result;
}

}  // namespace

std::unique_ptr<RankPass> make_samples_pass(const PassParts& parts, SampleWork work) {
  return std::make_unique<ForwardPass>(parts, std::move(work));
}

std::unique_ptr<RankPass> make_texts_pass(const PassParts& parts) {
  return std::make_unique<TextsPass>(parts);
}

}  // namespace d9d
