#include "runtime/rank/pipeline_worker.hpp"

#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/metric/expert_load.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/pipeline/compute_lanes.hpp"
#include "runtime/pipeline/run_instruction.hpp"
#include "runtime/pipeline/stage_core.hpp"
#include "runtime/pipeline/step_programs.hpp"
#include "runtime/rank/gradient_groups.hpp"
#include "runtime/rank/job_pieces.hpp"
#include "runtime/rank/microbatch_parcel.hpp"
#include "runtime/rank/plugin_parameters.hpp"
#include "runtime/rank/rank_buffers.hpp"
#include "runtime/rank/rank_evaluation.hpp"
#include "runtime/rank/rank_experts.hpp"
#include "runtime/rank/rank_gradients.hpp"
#include "runtime/rank/stage_units.hpp"
#include "runtime/rank/training_state.hpp"
#include "runtime/rank/watched_tensors.hpp"
#include "runtime/task/inference_task.hpp"
#include "runtime/task/model_provider.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"
#include "runtime/tensor/tensor_parcel.hpp"
#include "runtime/tensor/tied.hpp"
#include "runtime/tensor/torch_dtype.hpp"
#include "runtime/train/frozen_parameters.hpp"
#include "runtime/train/gradient_norm.hpp"
#include "runtime/train/gradient_sync.hpp"
#include "runtime/train/tied_gradients.hpp"

namespace d9d {
namespace {

FlatOptions flat_options(const GradientManagerConfig& config) {
  FlatOptions options{.bucket_bytes = config.bucket_size_mb << 20, .wanted_buckets = 8};
  // Tensor parallel runs with sequence parallel: each of its ranks sees other tokens or heads, also with the
  // parameters that all of them hold.
  options.summed_axes.emplace_back("tp");
  if (config.grad_dtype) options.grad_dtype = scalar_type_of(*config.grad_dtype);
  return options;
}

class PipelineWorker final : public RankWorker, private GradientObserver {
 public:
  PipelineWorker(PipelineWorkerOptions options, BucketObserver& buckets, CommTracing tracing)
      : options_(std::move(options)),
        buckets_(buckets),
        tracing_(std::move(tracing)),
        pipeline_rank_(options_.plan->placement(options_.rank).pipeline),
        topology_(topology_of(options_.schedule, pipeline_ranks())),
        programs_(options_.schedule, pipeline_ranks(), options_.plan->world_size() / pipeline_ranks(),
                  options_.search),
        order_(
            make_cursor(options_.order, pipeline_rank_, options_.extra_activations),
            [this](const Action& action) { return core(action.stage).ready(action); }, options_.follows) {}

  void prepare() override;
  std::uint64_t entries_loaded() const override { return entries_loaded_; }
  std::vector<int> bucket_groups() const override;
  void begin_step(std::uint64_t step, const std::vector<Ticket>& microbatches) override;
  void put(const StageTensor& tensor) override;
  RankOrder& order() override { return evaluating_ ? evaluation_->order() : order_; }
  std::vector<StageTensor> run(const Instruction& instruction) override;
  StepTotals finish_step() override;
  void begin_evaluation(std::uint64_t step, const std::vector<Ticket>& microbatches) override;
  StepTotals finish_evaluation() override;
  StepPrograms& programs() override { return programs_; }
  void apply(double gradient_scale, double lr_multiplier) override;
  void skip() override;
  void watch_tensors(double gradient_scale) override;
  std::vector<double> take_metrics() override;
  std::vector<double> take_evaluation_metrics() override { return evaluation_->take_metrics(); }
  std::string metric_state() const override { return metrics_.to_json().dump(); }
  Ticket snapshot() override;

 private:
  int pipeline_ranks() const { return options_.plan->parameters().pipeline_parallel; }
  StageCore& core(int stage) const {
    const auto found = cores_.find(stage);
    D9D_CHECK(found != cores_.end(), "stage {} does not live on rank {}", stage, options_.rank);
    return evaluating_ ? evaluation_->core(stage) : *found->second;
  }
  struct BuiltStage {
    std::shared_ptr<StageModule> module;
    std::size_t first_parameter = 0;  // in flat_
    std::size_t end_parameter = 0;
    StageUnits units;
  };
  StagePosition position(int stage) const { return {stage, topology_.num_stages()}; }
  // Tensor-parallel ranks compute the same loss of the same samples: one of them counts it.
  bool counts_loss() const { return options_.plan->placement(options_.rank).tensor == 0; }
  std::vector<StageParameter> parameters_of(const BuiltStage& built) const {
    const auto begin = flat_->parameters().begin();
    return {begin + static_cast<std::ptrdiff_t>(built.first_parameter),
            begin + static_cast<std::ptrdiff_t>(built.end_parameter)};
  }
  // Made when the first module asks for a communicator: without one there is nothing to overlap.
  ComputeLanes& lanes() {
    if (!lanes_) {
      lanes_ = std::make_unique<ComputeLanes>([threads = options_.threads] { at::set_num_threads(threads); });
    }
    return *lanes_;
  }
  // Which of two lanes asks a unit first is up to timing, and other ranks may see it otherwise.
  bool parts_may_overlap() const {
    return lanes_ && std::none_of(stages_.begin(), stages_.end(), [](const auto& stage) {
             return stage.second.units.communicate_in_actions();
           });
  }
  void make_metrics();
  std::vector<StageParameter> build_stages();
  void check_parameters(const OpenGroup& open) const;
  void fill_parameters();
  void make_optimizer(const OpenGroup& open);
  std::shared_ptr<Communicator> open_tied() const;
  void end_step(bool update);
  void gradient_complete(int stage, std::size_t parameter, bool last) override;
  StageCoreOptions core_options(int stage, const BuiltStage& built);
  std::uint64_t noise_seed() const { return stable_hash(fmt::format("{}:{}", options_.seed, options_.rank)); }
  void make_evaluation();
  std::vector<MicrobatchTensors> take_microbatches(const std::vector<Ticket>& tickets) const;

  const PipelineWorkerOptions options_;
  BucketObserver& buckets_;
  const CommTracing tracing_;
  const int pipeline_rank_;
  const Topology topology_;
  StepPrograms programs_;
  RankOrder order_;
  std::shared_ptr<FlatParameters> flat_;
  std::unique_ptr<GradientSync> sync_;
  std::unique_ptr<TiedGradients> tied_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<ComputeLanes> lanes_;  // where composed actions overlap; the modules' communicators use it
  std::unique_ptr<StageGroups> groups_;
  std::unique_ptr<RankBuffers> buffers_;
  std::unique_ptr<RankExperts> experts_;
  std::map<int, BuiltStage> stages_;
  std::map<int, std::unique_ptr<StageCore>> cores_;  // by stage
  std::unique_ptr<RankEvaluation> evaluation_;       // where the job evaluates
  bool evaluating_ = false;
  Compose metrics_;  // of the task; counts on the last stage, between two calls of take_metrics()
  std::uint64_t entries_loaded_ = 0;
};

void PipelineWorker::prepare() {
  at::set_num_threads(options_.threads);
  make_metrics();
  const OpenGroup open = with_tracing(options_.open_group, tracing_, [this] { return lanes_.get(); });
  groups_ = std::make_unique<StageGroups>(
      options_.plan->domains(), options_.rank,
      composes_actions(options_.schedule)
          ? with_lane_communicators(open, [this]() -> ComputeLanes& { return lanes(); })
          : open);
  groups_->communication_thread()->set_around(tracing_.background, tracing_.stalls);
  buffers_ = std::make_unique<RankBuffers>(options_.plan->domains(), options_.rank, open);
  experts_ = std::make_unique<RankExperts>(options_.plan->domains(), options_.rank, open);
  const std::vector<StageParameter> parameters = build_stages();
  FlatOptions flat = flat_options(options_.gradients);
  flat.keep_values = options_.model_is_of_plugin;  // of a family nothing has a value yet
  join_frozen(parameters, flat.keep_values);
  flat_ = std::make_shared<FlatParameters>(parameters, flat);
  tied_ = std::make_unique<TiedGradients>(*flat_, [this] { return open_tied(); });
  if (options_.model_is_of_plugin || options_.optimizer->built_in() == nullptr) check_parameters(open);
  const bool resumes = !options_.resume_from.empty() && !options_.inference;
  if (!resumes || options_.checkpoint_only_trainable) fill_parameters();
  make_optimizer(open);
  if (resumes) {
    entries_loaded_ = load_training_state(*options_.disk, options_.resume_from, *optimizer_, buffers_->all(),
                                          options_.checkpoint_only_trainable);
    optimizer_->set_step_count(optimizer_->step_count() - static_cast<std::int64_t>(options_.skipped_steps));
  }
  buffers_->make_equal();
  sync_ = std::make_unique<GradientSync>(*flat_);
  for (auto& [stage, built] : stages_) {
    built.units = StageUnits(built.module->parameters(), parameters_of(built));
    built.units.after_update();
  }
  for (const auto& [stage, built] : stages_) {
    cores_[stage] = std::make_unique<StageCore>(core_options(stage, built), *options_.table);
  }
  if (options_.evaluates || options_.inference) make_evaluation();
  options_.shared->parameters = flat_;
}

void PipelineWorker::make_evaluation() {
  RankEvaluationOptions evaluation{.modules = {},
                                   .topology = topology_,
                                   .pipeline_rank = pipeline_rank_,
                                   .noise_seed = noise_seed(),
                                   .task = options_.task,
                                   .inference = options_.inference,
                                   .counts_loss = counts_loss(),
                                   .table = options_.table};
  for (const auto& [stage, built] : stages_) evaluation.modules[stage] = built.module;
  evaluation_ = std::make_unique<RankEvaluation>(std::move(evaluation));
}

// Between the ranks of the first and the last stage that have the same place in them.
std::shared_ptr<Communicator> PipelineWorker::open_tied() const {
  const std::vector<int> ranks = options_.plan->group(options_.rank, regular_domain, {"pp"}).ranks;
  const auto rank_of = [&](int stage) {
    return ranks.at(static_cast<std::size_t>(topology_.rank_of(stage)));
  };
  const OpenGroup open = [&](const auto&, const auto&, const std::string& use) {
    return options_.open_pair(rank_of(0), rank_of(topology_.num_stages() - 1), use);
  };
  return with_tracing(open, tracing_, [this] { return lanes_.get(); })("", {}, "tied gradients");
}

// Returns the parameters of all stages.
std::vector<StageParameter> PipelineWorker::build_stages() {
  std::vector<StageParameter> parameters;
  for (const int stage : topology_.stages_of(pipeline_rank_)) {
    BuiltStage& built = stages_[stage];
    built.module = options_.model->build_stage(position(stage));
    if (options_.inference) {
      for (const StageParameter& parameter : built.module->parameters())
        parameter.tensor.requires_grad_(false);
    }
    built.first_parameter = parameters.size();
    const std::vector<StageParameter> own =
        options_.model->parallelize(*built.module, *groups_, options_.parallel);
    parameters.insert(parameters.end(), own.begin(), own.end());
    built.end_parameter = parameters.size();
    buffers_->add(built.module);
    experts_->add(*built.module);
  }
  return parameters;
}

// A task may have other metrics than the one that wrote the checkpoint.
void PipelineWorker::make_metrics() {
  options_.declare_metrics(metrics_);
  std::set<std::string> dropped;
  for (const std::string& state : options_.metric_states) {
    for (std::string& name : metrics_.merge_json(nlohmann::json::parse(state)))
      dropped.insert(std::move(name));
  }
  if (options_.rank != 0 || dropped.empty()) return;
  log::warn("the task no longer declares these metrics of the checkpoint, what they counted is dropped: {}",
            fmt::join(dropped, ", "));
}

void PipelineWorker::check_parameters(const OpenGroup& open) const {
  const std::vector<std::string> warnings =
      check_plugin_parameters(flat_->parameters(), *options_.optimizer, options_.plan->domains(), open);
  if (options_.rank != 0) return;
  for (const std::string& warning : warnings) log::warn("{}", warning);
}

// From a folder of weights or the seed; adapters from the seed or folders of their own.
void PipelineWorker::fill_parameters() {
  const std::string& folder = options_.source_checkpoint;
  for (const auto& [stage, built] : stages_) {
    std::vector<StageParameter> drawn, loaded;
    for (const StageParameter& parameter : parameters_of(built)) {
      const bool is_drawn =
          folder.empty() || parameter.of_adapter || options_.model->starts_anew(folder, parameter.name);
      (is_drawn ? drawn : loaded).push_back(parameter);
    }
    draw_initial_weights(drawn, options_.seed);
    if (!folder.empty()) {
      options_.model->load_weights(folder, position(stage), loaded);
      options_.model->load_buffers(folder, position(stage), buffers_->of(*built.module));
    }
    options_.model->load_adapter(parameters_of(built));
  }
}

void PipelineWorker::make_optimizer(const OpenGroup& open) {
  const OptimizerContext context{.seed = options_.seed, .open = [&open](std::vector<std::string> axes) {
                                   std::erase(axes, tied_axis);  // which leads to another stage
                                   return open(axes.empty() ? dense_domain : domain_of_axes(axes), axes,
                                               "optimizer");
                                 }};
  const auto make = [&] { return options_.optimizer->make(*flat_, context); };
  optimizer_ = options_.optimizer->built_in() != nullptr
                   ? make()
                   : call_user("the optimizer of the plugin", ErrorInside::passes, make);
}

StageCoreOptions PipelineWorker::core_options(int stage, const BuiltStage& built) {
  StageCoreOptions core{.module = built.module, .stage = stage, .num_stages = topology_.num_stages()};
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
  core.compute_loss = [this](const LastStageOutputs& outputs) {
    const LossContext context{outputs.step, outputs.microbatch, outputs.outputs, outputs.state};
    const Loss loss = options_.task->compute_loss(context);
    if (counts_loss()) options_.task->update_metrics(context, metrics_);
    return StageLoss{loss.loss, loss.weight};
  };
  return core;
}

// Inside run(), on the thread that computes (step_observer.hpp).
void PipelineWorker::gradient_complete(int stage, std::size_t parameter, bool last) {
  const std::size_t first = stages_.at(stage).first_parameter;
  for (const int bucket : sync_->mark_complete(first + parameter, last)) {
    const GradientBucket& ready = flat_->buckets()[static_cast<std::size_t>(bucket)];
    if (ready.unit) ready.unit->hand_over_gradient(last);
    buckets_.bucket_complete(bucket);
  }
}

std::vector<int> PipelineWorker::bucket_groups() const {
  const std::vector<GradientGroup> groups = gradient_groups(options_.plan->domains(), options_.parallel);
  std::vector<int> indices;
  for (const GradientBucket& bucket : flat_->buckets()) {
    indices.push_back(bucket.needs_reduction()
                          ? gradient_group_index(groups, bucket.scatter_axes(), bucket.reduce_axes)
                          : -1);
  }
  return indices;
}

std::vector<MicrobatchTensors> PipelineWorker::take_microbatches(const std::vector<Ticket>& tickets) const {
  std::vector<MicrobatchTensors> tensors;
  tensors.reserve(tickets.size());
  for (const Ticket ticket : tickets) {
    tensors.push_back(std::move(options_.table->take_as<MicrobatchParcel>(ticket)->tensors));
  }
  return tensors;
}

void PipelineWorker::begin_step(std::uint64_t step, const std::vector<Ticket>& microbatches) {
  const std::vector<MicrobatchTensors> tensors = take_microbatches(microbatches);
  sync_->begin_step();
  for (auto& [stage, core] : cores_) core->begin_step(step, tensors);
  const auto program = programs_.get(static_cast<int>(tensors.size()));
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

// Two lanes of an instruction touch different stages and take turns (run_instruction.hpp).
std::vector<StageTensor> PipelineWorker::run(const Instruction& instruction) {
  const auto results = run_instruction(instruction, lanes_.get(), [this](const Action& action) {
    ActionResult result = core(action.stage).run(action);
    if (action.kind != ActionKind::forward) stages_.at(action.stage).units.end_action();
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
    pass_on({false, action.stage + 1, action.microbatch, results[i].activation});
    pass_on({true, action.stage - 1, action.microbatch, results[i].gradient});
  }
  return outputs;
}

StepTotals PipelineWorker::finish_step() {
  StepTotals totals;
  for (auto& [stage, core] : cores_) {
    const StageTotals sums = core->finish_step();
    stages_.at(stage).units.end_step();
    if (!counts_loss()) continue;
    totals.loss_sum += sums.loss_sum;
    totals.weight_sum += sums.weight_sum;
  }
  tied_->sum();
  for (const GradientBucket& bucket : flat_->buckets()) {
    if (bucket.needs_reduction() && !bucket.tied) continue;
    totals.norm_share = joined_shares(options_.norm, totals.norm_share, share_of_norm(bucket, options_.norm));
  }
  if (options_.logs_expert_load) experts_->count(metrics_.get<ExpertLoad>(expert_load_name));
  totals.costs = programs_.finish_step();
  return totals;
}

void PipelineWorker::begin_evaluation(std::uint64_t step, const std::vector<Ticket>& microbatches) {
  D9D_CHECK(evaluation_ && !evaluating_, "rank {} was not made for an evaluation, or is in one",
            options_.rank);
  evaluating_ = true;
  evaluation_->begin(step, take_microbatches(microbatches));
}

// Units that were gathered for the evaluation go, and those of the next step's begin are asked for again.
StepTotals PipelineWorker::finish_evaluation() {
  const StepTotals totals = evaluation_->finish();
  evaluating_ = false;
  for (const auto& [stage, built] : stages_) {
    built.units.end_step();
    built.units.after_update();
  }
  return totals;
}

void PipelineWorker::apply(double gradient_scale, double lr_multiplier) {
  const UpdateScale scale{.lr_multiplier = lr_multiplier, .grad = gradient_scale};
  if (options_.optimizer->built_in() != nullptr) {
    optimizer_->step(scale);
  } else {
    call_user("the optimizer of the plugin", ErrorInside::is_named, [&] { optimizer_->step(scale); });
  }
  end_step(/*update=*/true);
}

// Buffers are the forward's work, so they have changed all the same.
void PipelineWorker::skip() {
  flat_->zero_grad();
  end_step(/*update=*/false);
}

void PipelineWorker::end_step(bool update) {
  for (const auto& [stage, built] : stages_) built.units.after_update();
  experts_->end_step(update);
  buffers_->make_equal();
}

void PipelineWorker::watch_tensors(double gradient_scale) {
  if (options_.watched.empty() || options_.inference) return;
  d9d::watch_tensors(*flat_, options_.watched, gradient_scale,
                     metrics_.get<TensorStatistics>(statistics_name));
}

std::vector<double> PipelineWorker::take_metrics() {
  std::vector<double> state = metrics_.state();
  metrics_.reset();
  return state;
}

// An inference job's checkpoint has no tensors: the weights are where they came from.
Ticket PipelineWorker::snapshot() {
  if (options_.inference) {
    call_user("the task's flush", ErrorInside::passes, [&] { options_.inference->flush(); });
    return {};
  }
  return snapshot_training_state(*optimizer_, buffers_->all(), *options_.table,
                                 options_.checkpoint_only_trainable);
}

}  // namespace

std::unique_ptr<RankWorker> make_pipeline_worker(PipelineWorkerOptions options, BucketObserver& buckets,
                                                 CommTracing tracing) {
  return std::make_unique<PipelineWorker>(std::move(options), buckets, std::move(tracing));
}

}  // namespace d9d
