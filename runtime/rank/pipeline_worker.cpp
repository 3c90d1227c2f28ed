#include "runtime/rank/pipeline_worker.hpp"

#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/job/plan/gradient_groups.hpp"
#include "runtime/metric/expert_load.hpp"
#include "runtime/pipeline/lane/compute_lanes.hpp"
#include "runtime/pipeline/order/step_programs.hpp"
#include "runtime/pipeline/run_instruction.hpp"
#include "runtime/pipeline/stage/stage_core.hpp"
#include "runtime/rank/device_groups.hpp"
#include "runtime/rank/evaluation_turn.hpp"
#include "runtime/rank/feed/device_inputs.hpp"
#include "runtime/rank/feed/microbatch_parcel.hpp"
#include "runtime/rank/group/rank_gradients.hpp"
#include "runtime/rank/job_pieces.hpp"
#include "runtime/rank/measured/action_times.hpp"
#include "runtime/rank/measured/host_totals.hpp"
#include "runtime/rank/measured/rank_metrics.hpp"
#include "runtime/rank/measured/watched_tensors.hpp"
#include "runtime/rank/phase_losses.hpp"
#include "runtime/rank/phase_program.hpp"
#include "runtime/rank/rank_hooks.hpp"
#include "runtime/rank/rank_model.hpp"
#include "runtime/rank/state/snapshot_copies.hpp"
#include "runtime/rank/state/training_state.hpp"
#include "runtime/rank/untrained/untrained_weights.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/rank_context.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/tensor/tensor_parcel.hpp"
#include "runtime/train/gradient/norm_parts.hpp"

namespace d9d {
namespace {

class PipelineWorker final : public RankWorker, private GradientObserver {
 public:
  PipelineWorker(PipelineWorkerOptions options, BucketObserver& buckets, CommTracing tracing)
      : options_(groups_.watched(std::move(options))),
        buckets_(buckets),
        tracing_(std::move(tracing)),
        pipeline_rank_(options_.plan->placement(options_.rank).pipeline),
        topology_(topology_of(options_.schedule, pipeline_ranks())),
        programs_(options_.schedule, pipeline_ranks(), options_.plan->world_size() / pipeline_ranks(),
                  options_.search),
        order_(
            make_cursor(options_.order, pipeline_rank_, options_.extra_activations),
            [this](const Action& action) { return core(action.stage).ready(action); }, options_.follows),
        metrics_(options_.declare_metrics, counts_loss()),
        losses_({options_.task, options_.phases, counts_loss(), &metrics_.of_losses(), options_.device,
                 options_.of_plugin.task}),
        copies_(options_.device) {
    if (!options_.device->is_cpu())
      times_ = std::make_unique<ActionTimes>(bool(tracing_.in_compute), programs_);
  }

  void prepare() override;
  std::uint64_t entries_loaded() const override { return model_->entries_loaded(); }
  std::vector<int> bucket_groups() const override { return bucket_groups_; }
  void let_state_change() override { copies_.before_state_changes(); }
  void begin_step(std::uint64_t step, const std::vector<Ticket>& microbatches) override;
  void put(const StageTensor& tensor) override;
  RankOrder& order() override { return turn_.running() ? turn_.now().order() : order_; }
  std::vector<StageTensor> run(const Instruction& instruction) override {
    return groups_.checked([&] { return run_parts(instruction); });
  }
  StepTotals finish_step() override {
    return groups_.checked([this] { return totals_of_step(); });
  }
  void begin_evaluation(std::uint64_t step, const std::vector<Ticket>& microbatches) override;
  StepTotals finish_evaluation() override {
    return groups_.checked([this] { return totals_of_evaluation(); });
  }
  void begin_texts(std::uint64_t step, const TextRequest& request) override;
  Texts take_texts() override { return turn_.take_texts(); }
  void restore(const std::string& checkpoint, std::uint64_t skipped_steps) override;
  WorkLog* work_log() override { return times_ ? &times_->log() : nullptr; }
  Device* late_device() override { return options_.device->is_cpu() ? nullptr : options_.device.get(); }
  StepPrograms& programs() override { return programs_; }
  void apply(double gradient_scale, double lr_multiplier) override;
  void skip() override;
  std::uint64_t sleep(const std::string& file) override;
  void wake() override { model_->wake(); }
  HookedGradients hook_gradients(std::uint64_t step, double loss, double weight) override;
  void watch_tensors(double gradient_scale) override;
  std::vector<double> take_metrics() override { return metrics_.take(); }
  std::vector<double> take_evaluation_metrics() override { return turn_.of_samples().take_metrics(); }
  std::string metric_state() override { return metrics_.all().to_json().dump(); }
  Ticket snapshot() override {
    return groups_.checked([this] { return take_snapshot(); });
  }

 private:
  int pipeline_ranks() const { return options_.plan->parameters().pipeline_parallel; }
  StageCore& core(int stage) const {
    const auto found = cores_.find(stage);
    D9D_CHECK(found != cores_.end(), "stage {} does not live on rank {}", stage, options_.rank);
    return turn_.running() ? turn_.now().core(stage) : *found->second;
  }
  // Tensor-parallel ranks compute the same loss of the same samples, so only one of them counts it.
  bool counts_loss() const { return options_.plan->placement(options_.rank).tensor == 0; }
  // Makes the lanes when the first module asks for a communicator. Without one no
  // action waits, and lanes are useless.
  ComputeLanes& lanes() {
    if (!lanes_) {
      lanes_ = std::make_unique<ComputeLanes>([threads = options_.threads] { at::set_num_threads(threads); });
    }
    return *lanes_;
  }
  // False when a stage gathers units inside actions: which of two lanes asks for a unit first depends on
  // timing, and ranks that gather in different orders would wait for each other forever.
  bool parts_may_overlap() const {
    // On a device collectives are queued in program order and the host waits
    // for no rank: nothing to overlap.
    return options_.device->is_cpu() && lanes_ &&
           std::none_of(model_->stages().begin(), model_->stages().end(),
                        [](const auto& stage) { return stage.second.units.communicate_in_actions(); });
  }
  std::vector<StageTensor> run_parts(const Instruction& instruction);
  StepTotals totals_of_step();
  StepTotals totals_of_evaluation();
  Ticket take_snapshot();
  std::vector<int> groups_of_buckets() const;
  void name_unreached(int stage, const StageCore& core, const StageLosses& losses);
  void load_metrics();
  void wait_for_reductions();
  void end_step(bool update);
  void gradient_complete(int stage, std::size_t parameter, bool last) override;
  StageCoreOptions core_options(int stage, const RankModel::Stage& built);
  std::uint64_t noise_seed() const { return stable_hash(fmt::format("{}:{}", options_.seed, options_.rank)); }
  RankEvaluationOptions evaluation_options(std::shared_ptr<InferenceTask> inference) const;
  // Adds to `metrics` what the task counted when it built the microbatches.
  std::vector<MicrobatchTensors> take_microbatches(const std::vector<Ticket>& tickets,
                                                   Compose& metrics) const;
  DeviceGroups groups_;
  const PipelineWorkerOptions options_;
  BucketObserver& buckets_;
  const CommTracing tracing_;
  const int pipeline_rank_;
  const Topology topology_;
  StepPrograms programs_;
  RankOrder order_;
  std::unique_ptr<ActionTimes> times_;  // null on the CPU
  RankMetrics metrics_;
  PhaseLosses losses_;
  std::unique_ptr<ComputeLanes> lanes_;  // where composed actions overlap; the modules' communicators use it
  std::unique_ptr<RankModel> model_;
  SnapshotCopies copies_;
  std::map<int, std::unique_ptr<StageCore>> cores_;  // by stage
  std::set<int> unreached_named_;                    // stages that name_unreached() has done
  std::vector<int> bucket_groups_;                   // by bucket, see RankWorker
  EvaluationTurn turn_;
  PhaseProgram phase_program_;
};

void PipelineWorker::prepare() {
  at::set_num_threads(options_.threads);
  load_metrics();
  const RankModel::Lanes lanes{[this] { return lanes_.get(); },
                               [this]() -> ComputeLanes& { return this->lanes(); }};
  model_ = std::make_unique<RankModel>(options_, topology_, tracing_, lanes);
  for (const auto& [stage, built] : model_->stages())
    cores_[stage] = std::make_unique<StageCore>(core_options(stage, built), *options_.table);
  if (options_.evaluates || options_.inference) turn_.prepare(evaluation_options(options_.inference));
  options_.shared->parameters = model_->flat();
  bucket_groups_ = groups_of_buckets();
  options_.shared->norm_parts = std::make_shared<NormParts>();
  if (options_.begin_task) {
    const OpenGroup open = with_tracing(options_.open_group, tracing_, lanes.made);
    RankContext context =
        rank_context(options_.context, *options_.plan, options_.rank, options_.first_step, open);
    context.count = [counts = metrics_.beside()](const auto& update) { counts->update(update); };
    call_user("the task's begin", ErrorInside::passes, [&] { options_.begin_task(context); });
  }
}

RankEvaluationOptions PipelineWorker::evaluation_options(std::shared_ptr<InferenceTask> inference) const {
  RankEvaluationOptions evaluation{.modules = {},
                                   .topology = topology_,
                                   .pipeline_rank = pipeline_rank_,
                                   .noise_seed = noise_seed(),
                                   .task = options_.task,
                                   .phase = options_.phases.first_training(),
                                   .inference = std::move(inference),
                                   .counts_loss = counts_loss(),
                                   .device = options_.device,
                                   .table = options_.table};
  for (const auto& [stage, built] : model_->stages()) evaluation.modules[stage] = built.module;
  return evaluation;
}

// The task may declare other metrics than the task that wrote the checkpoint.
void PipelineWorker::load_metrics() {
  const std::vector<std::string> dropped = metrics_.load(options_.metric_states);
  if (options_.rank != 0 || dropped.empty()) return;
  log::warn("the task no longer declares these metrics of the checkpoint, what they counted is dropped: {}",
            fmt::join(dropped, ", "));
}

StageCoreOptions PipelineWorker::core_options(int stage, const RankModel::Stage& built) {
  StageCoreOptions core{.module = built.module,
                        .device = options_.device,
                        .synchronous = options_.synchronous_device,
                        .stage = stage,
                        .num_stages = topology_.num_stages()};
  core.observer = this;
  core.noise_seed = noise_seed();
  core.each_microbatch = built.units.reduce_each_microbatch();
  if (!built.units.empty()) {
    core.before_weight_job = [&units = built.units](const at::Tensor& weight, bool reads) {
      units.before_weight_job(weight, reads);
    };
  }
  const char* const why = built.units.empty() ? "" : " (its values are gathered for each use)";
  core.on_not_split = [stage, why, module = built.module, told = std::set<std::string>()](
                          std::size_t parameter, const std::string& nodes) mutable {
    if (!told.insert(nodes).second) return;
    log::warn(
        "stage {}: {} cannot leave weight gradients to W, so that of {} is computed with I{}: right, but not "
        "split",
        stage, nodes, module->parameters()[parameter].name, why);
  };
  if (!options_.of_plugin.model.empty()) {
    core.whose = fmt::format("the model \"{}\"", options_.of_plugin.model);
    if (built.units.empty())
      core.on_unregistered = [stage](const std::vector<at::Tensor>& tensors) {
        log::warn("{}", unregistered_text(stage, tensors));
      };
  }
  core.compute_loss = [this](const LastStageOutputs& outputs) { return losses_.compute(outputs); };
  core.consume_outputs = [this](const LastStageOutputs& outputs) { losses_.carry(outputs); };
  return core;
}

// Called inside run(), on the computing thread (step_observer.hpp).
void PipelineWorker::gradient_complete(int stage, std::size_t parameter, bool last) {
  const std::size_t first = model_->stages().at(stage).first_parameter;
  for (const int bucket : model_->sync().mark_complete(first + parameter, last)) {
    const GradientBucket& ready = model_->flat()->buckets()[static_cast<std::size_t>(bucket)];
    if (ready.unit) ready.unit->hand_over_gradient(last);
    if (!options_.device->is_cpu())
      options_.shared->reductions.launch(bucket_groups_[static_cast<std::size_t>(bucket)], bucket);
    buckets_.bucket_complete(bucket);
  }
}

std::vector<int> PipelineWorker::groups_of_buckets() const {
  const std::vector<GradientGroup> groups = gradient_groups(options_.plan->domains(), options_.parallel);
  std::vector<int> indices;
  for (const GradientBucket& bucket : model_->flat()->buckets()) {
    indices.push_back(bucket.needs_reduction()
                          ? gradient_group_index(groups, bucket.scatter_axes(), bucket.reduce_axes)
                          : -1);
  }
  return indices;
}

std::vector<MicrobatchTensors> PipelineWorker::take_microbatches(const std::vector<Ticket>& tickets,
                                                                 Compose& metrics) const {
  std::vector<MicrobatchTensors> tensors;
  tensors.reserve(tickets.size());
  for (const Ticket ticket : tickets) {
    const auto parcel = options_.table->take_as<MicrobatchParcel>(ticket);
    metrics.merge(parcel->counted);
    tensors.push_back(on_device(std::move(parcel->tensors), *options_.device));
  }
  return tensors;
}

void PipelineWorker::begin_step(std::uint64_t step, const std::vector<Ticket>& microbatches) {
  std::vector<MicrobatchTensors> tensors = take_microbatches(microbatches, metrics_.here());
  copies_.before_buffers_change();
  const int forwards = losses_.begin_step(tensors);
  model_->sync().begin_step();
  for (auto& [stage, core] : cores_) core->begin_step(step, tensors);
  const auto program =
      phase_program_.get(programs_.get(static_cast<int>(tensors.size()) - forwards), forwards);
  const std::string report = programs_.take_report();
  if (options_.rank == 0 && !report.empty()) log::info("{}", report);
  order_.begin_step(step, parts_may_overlap() ? program : parts_apart(program));
}

void PipelineWorker::put(const StageTensor& tensor) {
  StageCore& receiver = core(tensor.stage);
  if (tensor.gradient) {
    receiver.put_gradient(tensor.microbatch, tensor.ticket);
  } else {
    receiver.put_activation(tensor.microbatch, tensor.ticket);
  }
}

// Two lanes may run at once without a lock here: they work on different stages
// and take turns (run_instruction.hpp).
std::vector<StageTensor> PipelineWorker::run_parts(const Instruction& instruction) {
  const WorkLog::Scope log(work_log());
  const auto results = run_instruction(instruction, lanes_.get(), [this](const Action& action) {
    ActionResult result = core(action.stage).run(action);
    if (action.kind != ActionKind::forward) model_->stages().at(action.stage).units.end_action();
    return result;
  });
  std::vector<StageTensor> outputs;
  const auto pass_on = [&](const StageTensor& tensor) {
    if (!tensor.ticket) return;
    if (cores_.contains(tensor.stage)) return put(tensor);
    outputs.push_back(tensor);
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Action& action = instruction.parts[i];
    const auto [stage, microbatch] =
        turn_.running() ? turn_.now().after(action) : std::pair(action.stage + 1, action.microbatch);
    pass_on({false, stage, microbatch, results[i].activation});
    pass_on({true, action.stage - 1, action.microbatch, results[i].gradient});
  }
  return outputs;
}

StepTotals PipelineWorker::totals_of_step() {
  const WaitPlace place("step end");
  const WorkName work("the step's end");
  const WorkLog::Scope log(work_log());
  wait_for_reductions();
  std::vector<StageLosses> steps;
  for (auto& [stage, core] : cores_) {
    steps.push_back(core->end_step());
    name_unreached(stage, *core, steps.back());
    model_->stages().at(stage).units.end_step();
  }
  model_->tied().sum();
  StepTotals totals = host_totals(steps, *model_->flat(), *options_.shared->norm_parts, options_.norm);
  if (!counts_loss()) totals.loss_sum = totals.weight_sum = 0;
  if (options_.logs_expert_load) model_->experts().count(metrics_.here().get<ExpertLoad>(expert_load_name));
  losses_.end_step();
  if (times_) times_->end_step(order_);
  totals.costs = programs_.finish_step();
  return totals;
}

// Warns after the first step in which a label counts. Only one of the ranks that hold the stage logs it.
void PipelineWorker::name_unreached(int stage, const StageCore& core, const StageLosses& losses) {
  const bool is_last = stage == topology_.num_stages() - 1;
  if (unreached_named_.contains(stage) || (is_last && losses.losses.empty())) return;
  unreached_named_.insert(stage);
  const RankPlacement& place = options_.plan->placement(options_.rank);
  if (place.data != 0 || place.tensor != 0) return;
  const std::string text =
      unreached_text(stage, model_->stages().at(stage).module->parameters(), core.unreached());
  if (!text.empty()) log::warn("{}", text);
}

void PipelineWorker::begin_evaluation(std::uint64_t step, const std::vector<Ticket>& microbatches) {
  copies_.before_buffers_change();
  turn_.begin(step, take_microbatches(microbatches, turn_.of_samples().metrics()));
}

// Frees the units that the evaluation has gathered, and requests those with which the next step begins.
StepTotals PipelineWorker::totals_of_evaluation() {
  const StepTotals totals = turn_.finish();
  for (const auto& [stage, built] : model_->stages()) {
    built.units.end_step();
    built.units.after_update();
  }
  return totals;
}

void PipelineWorker::begin_texts(std::uint64_t step, const TextRequest& request) {
  copies_.before_buffers_change();
  turn_.begin_texts(
      step, std::make_unique<RankTexts>(evaluation_options(nullptr), *options_.plan, options_.rank, request));
}

void PipelineWorker::restore(const std::string& checkpoint, std::uint64_t skipped_steps) {
  copies_.before_state_changes();
  model_->restore(checkpoint, skipped_steps);
}

// Makes this rank's stream wait for the collectives, before later work on it reads the gradients.
void PipelineWorker::wait_for_reductions() {
  if (options_.device->is_cpu()) return;
  for (const Event& reduced : options_.shared->reductions.take_events()) options_.device->wait(reduced);
}

HookedGradients PipelineWorker::hook_gradients(std::uint64_t step, double loss, double weight) {
  const WorkLog::Scope log(work_log());
  wait_for_reductions();
  WorkTimer timer(work_log(), *options_.device, {.name = "gradient hooks"});
  const HookedGradients hooked = call_hooks(
      options_.hooks, *model_->flat(), weight, options_.norm,
      {.step = step, .seed = options_.seed, .loss = loss, .gradients = {}, .metrics = &metrics_.here()});
  timer.end();
  return hooked;
}

void PipelineWorker::apply(double gradient_scale, double lr_multiplier) {
  const WorkName work("the update");
  const WorkLog::Scope log(work_log());
  wait_for_reductions();
  copies_.before_state_changes();
  WorkTimer timer(work_log(), *options_.device, {.name = "optimizer"});
  const UpdateScale scale{.lr_multiplier = lr_multiplier, .grad = gradient_scale};
  if (options_.optimizer->built_in() != nullptr) {
    model_->optimizer().step(scale);
  } else {
    call_user(fmt::format("the optimizer \"{}\"", options_.of_plugin.optimizer), ErrorInside::is_named,
              [&] { model_->optimizer().step(scale); });
  }
  timer.end();
  end_step(/*update=*/true);
}

// Still ends the step: the forward has changed buffers, which have to become equal on all ranks.
void PipelineWorker::skip() {
  wait_for_reductions();
  model_->flat()->zero_grad();
  end_step(/*update=*/false);
}

void PipelineWorker::end_step(bool update) {
  for (const auto& [stage, built] : model_->stages()) built.units.after_update();
  model_->experts().end_step(update);
  model_->buffers().make_equal();
}

void PipelineWorker::watch_tensors(double gradient_scale) {
  if (options_.watched.empty() || options_.inference) return;
  wait_for_reductions();
  d9d::watch_tensors(*model_->flat(), options_.watched, gradient_scale,
                     metrics_.here().get<TensorStatistics>(statistics_name));
}

// The checkpoint of an inference job has no tensors, because nothing changes the weights.
Ticket PipelineWorker::take_snapshot() {
  if (options_.inference) {
    call_user("the task's flush", ErrorInside::passes, [&] { options_.inference->flush(); });
    return {};
  }
  return snapshot_training_state(model_->optimizer(), model_->buffers().all(), copies_, *options_.table,
                                 options_.checkpoint_only_trainable);
}

std::uint64_t PipelineWorker::sleep(const std::string& file) {
  copies_.give_memory_back();
  return model_->sleep(file);
}

}  // namespace

std::unique_ptr<RankWorker> make_pipeline_worker(PipelineWorkerOptions options, BucketObserver& buckets,
                                                 CommTracing tracing) {
  return std::make_unique<PipelineWorker>(std::move(options), buckets, std::move(tracing));
}

}  // namespace d9d
