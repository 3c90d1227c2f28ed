#include "actors/job/rank_cast.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "actors/job/rank_links.hpp"
#include "actors/job/run_folders.hpp"
#include "actors/loader.hpp"
#include "actors/metric_collector.hpp"
#include "actors/rank_executor.hpp"
#include "actors/trainer.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/decorators/reopened.hpp"
#include "runtime/data/batch_maths.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/device/device.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/job/rule/context_rules.hpp"
#include "runtime/job/rule/evaluation_rules.hpp"
#include "runtime/job/rule/parameter_patterns.hpp"
#include "runtime/mesh/action_peers.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/rank/feed/context_place.hpp"
#include "runtime/rank/feed/source_feed.hpp"
#include "runtime/rank/group/rank_gradients.hpp"
#include "runtime/rank/job_pieces.hpp"
#include "runtime/rank/phase_losses.hpp"
#include "runtime/rank/pipeline_worker.hpp"
#include "runtime/resume/schedule_steps.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/task/inference_as_task.hpp"
#include "runtime/task/rank_context.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

// Empty for what is built in.
template <class Choice>
std::string name_of_plugin(const Choice& choice) {
  const auto* const named = std::get_if<config::Named>(&choice);
  return named == nullptr ? std::string() : named->name;
}

// Everything that the members of one rank's cast have in common.
struct RankCast {
  ProcessServices& process;
  EpochServices& epoch;
  const nlohmann::json& resumed;  // see make_rank_cast
  const int rank;
  const RankPlacement& placement;
  const ScheduleConfig schedule;
  const std::shared_ptr<InferenceTask> inference;  // null: the job trains
  const std::shared_ptr<TrainTask> task;           // or what stands for `inference`
  const std::shared_ptr<const RankEvents> events;
  const std::vector<std::shared_ptr<GradientHook>> hooks;
  const std::shared_ptr<RankGradients> gradients;
  const std::shared_ptr<TaskRecords> records;
  const std::shared_ptr<ReopenedCommunicators> communicators;  // of the RankExecutor

  const JobConfig& job() const { return process.job(); }
  const Plan& plan() const { return epoch.plan(); }
  const Membership& membership() const { return epoch.membership(); }
  ActorId at(Role role) const { return {role, static_cast<std::uint64_t>(rank)}; }
  int num_stages() const { return stages_per_rank(schedule) * plan().parameters().pipeline_parallel; }
  bool is_dynamic() const { return job().trainer.pipelining.order == CursorOrder::dynamic; }
  // Global ranks that hold each stage of this rank's pipeline.
  std::vector<int> ranks_of_stages() const;
  std::vector<int> remote_ranks() const;
  RankLinks links() const { return {epoch, job(), rank, gradients}; }

  std::optional<TraceWindow> trace_window() const;
  // What rank 0 had counted in the checkpoint that is resumed; 0 without one.
  std::uint64_t counted_before(const char* key) const;
  // What rank 0 kept for the job under this key; null without it.
  nlohmann::json kept_before(const char* key) const;
  // Why the run was ended at the checkpoint that is resumed, where that still counts; else empty.
  std::string ended_before() const;
  StepEndOptions step_end() const;
  std::vector<std::string> metric_states() const;
  std::function<void(Compose&)> metrics() const;

  PipelineWorkerOptions worker_options() const;
  CastMember rank_executor() const;
  // Collectives and TensorLanes.
  std::vector<CastMember> link_members() const;
  CastMember trainer(std::vector<ActorId> links) const;
  std::optional<EvaluationOptions> evaluation() const;
  JobPosition position() const { return {membership().resume_step, membership().resume_sample}; }
  std::uint64_t total_steps() const { return last_step_of(job(), process.num_samples, position()); }
  std::function<double(std::uint64_t)> lr_multiplier() const;
  SourceFeedOptions feed(std::int64_t batches) const;
  CastMember loader() const;
  CastMember evaluation_loader() const;
  CastMember metric_collector() const;
};

std::vector<int> RankCast::ranks_of_stages() const {
  const int pipeline_ranks = plan().parameters().pipeline_parallel;
  const Topology topology = topology_of(schedule, pipeline_ranks);
  const Group pipeline = plan().group(rank, regular_domain, {"pp"});
  std::vector<int> ranks;
  for (int stage = 0; stage < num_stages(); ++stage) {
    ranks.push_back(pipeline.ranks.at(static_cast<std::size_t>(topology.rank_of(stage))));
  }
  return ranks;
}

std::vector<int> RankCast::remote_ranks() const {
  std::set<int> remote;
  for (const int other : ranks_of_stages()) {
    if (plan().placement(other).node != placement.node) remote.insert(other);
  }
  return {remote.begin(), remote.end()};
}

std::optional<TraceWindow> RankCast::trace_window() const {
  const auto& profiling = job().trainer.profiling;
  if (!profiling || !profiling->enabled || !job().node.trace) return std::nullopt;
  return TraceWindow{static_cast<std::uint64_t>(profiling->period_steps),
                     static_cast<std::uint64_t>(profiling->active_steps), membership().resume_step + 1};
}

std::uint64_t RankCast::counted_before(const char* key) const {
  const auto main = resumed.find("0");
  return main == resumed.end() ? 0 : main->value(key, std::uint64_t{0});
}

nlohmann::json RankCast::kept_before(const char* key) const {
  const auto main = resumed.find("0");
  return main == resumed.end() ? nlohmann::json() : main->value(key, nlohmann::json());
}

std::string RankCast::ended_before() const {
  const nlohmann::json ended = kept_before("ended");
  const bool counts = ended.is_string() && !job().trainer.checkpointing.resume_ended;
  return counts ? ended.get<std::string>() : std::string();
}

StepEndOptions RankCast::step_end() const {
  const GradientClippingConfig& clipping = job().trainer.gradient_clipping;
  return {.clipping = {clipping.max_norm, clipping.norm_type},
          .non_finite = job().trainer.non_finite_gradients,
          .skipped_before = counted_before("skipped_steps"),
          .has_hooks = !hooks.empty()};
}

// What the ranks of the checkpoint had counted goes to the ranks of now in turn: it is summed over all of them
// anyway, so any mesh reports the same.
std::vector<std::string> RankCast::metric_states() const {
  std::vector<std::string> states;
  for (const auto& [other, saved] : resumed.items()) {
    if (std::stoi(other) % plan().world_size() != rank || !saved.contains("metrics")) continue;
    states.push_back(saved["metrics"].dump());
  }
  return states;
}

std::function<void(Compose&)> RankCast::metrics() const {
  return [&job = job(), model = process.loaded.model, task = task, hooks = hooks,
          phases = process.phases](Compose& metrics) {
    declare_metrics(job, model.get(), *task, hooks, metrics);
    declare_phase_losses(phases, metrics);
  };
}

PipelineWorkerOptions RankCast::worker_options() const {
  return {.rank = rank,
          .plan = &plan(),
          .schedule = schedule,
          .search = process.schedule_search,
          .order = job().trainer.pipelining.order,
          .extra_activations = job().trainer.pipelining.extra_activations,
          .model = process.model,
          .model_is_of_plugin = std::holds_alternative<config::Named>(job().model_provider),
          .of_plugin = {.model = name_of_plugin(job().model_provider),
                        .task = name_of_plugin(job().task),
                        .optimizer = name_of_plugin(job().optimizer)},
          .task = task,
          .phases = process.phases,
          .hooks = hooks,
          .events = events,
          .lr_schedule = process.lr_schedule,
          .begin_task =
              [task = task, records = records](RankContext context) {
                context.record = [records](TaskRecord record) { records->add(std::move(record)); };
                task->begin(context);
              },
          .context = process.registry->context(),
          .first_step = membership().resume_step + 1,
          .optimizer = process.optimizer,
          .gradients = job().trainer.gradient_manager,
          .norm = job().trainer.gradient_clipping.norm_type,
          .seed = static_cast<std::uint64_t>(job().trainer.determinism.base_seed),
          .threads = process.threads_per_rank,
          .device = epoch.device_of(rank),
          .synchronous_device = job().debug.synchronous_device,
          .awake = epoch.awake_ranks(),
          .source_checkpoint = job().trainer.model_stage_factory.source_checkpoint.value_or(""),
          .checkpoint_only_trainable = job().trainer.model_stage_factory.checkpoint_only_trainable_parameters,
          .resume_from = membership().resume_from,
          .skipped_steps = counted_before("skipped_steps"),
          .declare_metrics = metrics(),
          .watched = job().trainer.logging.statistics,
          .patterns = process.loaded.model ? std::map<std::string, std::string>{} : parameter_patterns(job()),
          .logs_expert_load = logs_expert_load(job(), process.loaded.model.get()),
          .evaluates = job().evaluation.has_value(),
          .inference = inference,
          .metric_states = metric_states(),
          .parallel = job().parallelism,
          .open_group =
              [&epoch = epoch, rank = rank, communicators = communicators](
                  const std::string& domain, const std::vector<std::string>& axes, const std::string& use) {
                return communicators->open(
                    [&epoch, rank, domain, axes, use] { return epoch.open(rank, domain, axes, use); });
              },
          .open_pair =
              [&epoch = epoch, rank = rank, communicators = communicators](int one, int other,
                                                                           const std::string& use) {
                return communicators->open(
                    [&epoch, rank, one, other, use] { return epoch.open_pair(rank, one, other, use); });
              },
          .shared = gradients,
          .table = &epoch.table(),
          .disk = &process.disk};
}

CastMember RankCast::rank_executor() const {
  PipelineWorkerOptions worker = worker_options();
  const std::vector<int> peers = is_dynamic() ? action_peers(plan(), rank) : std::vector{rank};
  const bool leads = peers.front() == rank;
  worker.follows = !leads;
  RankExecutorOptions options{
      .rank = rank,
      .make_worker =
          [worker = std::move(worker)](BucketObserver& buckets, CommTracing tracing) {
            return make_pipeline_worker(worker, buckets, std::move(tracing));
          },
      .rank_of_stage = ranks_of_stages(),
      .remote_ranks = remote_ranks(),
      .collectives = links().gradient_collectives(),
      .checkpoint_writer = {Role::checkpoint_writer, static_cast<std::uint64_t>(placement.node)},
      .norm = job().trainer.gradient_clipping.norm_type,
      .traces_kernels = trace_window(),
      .events = events,
      .communicators = communicators,
      .a_step_has_ended = [&epoch = epoch, rank = rank] { epoch.a_step_has_ended(rank); }};
  if (leads) options.followers.assign(peers.begin() + 1, peers.end());
  return {at(Role::rank_executor), Threading::own_thread, factory_of<RankExecutor>(std::move(options)), true};
}

std::vector<CastMember> RankCast::link_members() const {
  // A text goes around: the last stage's tokens are the first one's next inputs.
  const bool writes_texts = (inference && inference->passes() > 1) || !job().actors.empty();
  std::vector<CastMember> members = links().collectives();
  for (CastMember& lane : links().lanes(ranks_of_stages(), writes_texts)) members.push_back(std::move(lane));
  return members;
}

std::function<double(std::uint64_t)> RankCast::lr_multiplier() const {
  const ScheduleSteps steps(job(), process.num_samples, position(), epoch.first_batch());
  return [steps, multiplier = step_multiplier(*process.lr_schedule, steps.total())](std::uint64_t step) {
    return multiplier(steps.of(step));
  };
}

CastMember RankCast::trainer(std::vector<ActorId> links) const {
  const TrainerConfig& config = job().trainer;
  const std::uint64_t total = total_steps();
  TrainerOptions options{
      .rank = rank,
      .total_steps = total,
      .prefetch_steps = static_cast<std::uint64_t>(config.data_prefetch.prefetch_factor),
      .lr_multiplier = lr_multiplier(),
      .base_lr = base_learning_rate(*process.optimizer),
      .step_end = step_end(),
      .checkpoint_due = checkpoint_due(job(), total),
      .metrics_due = metrics_due(job(), total),
      .temporary_checkpoint_dir =
          [&job = job(), tag = membership().tag](std::uint64_t step) {
            return temporary_checkpoint_dir(job, tag, step);
          },
      .counts_tokens = placement.pipeline == 0 && placement.tensor == 0,
      .task_state =
          [task = task] {
            return call_user("the task's state", ErrorInside::is_named, [&] { return task->state().dump(); });
          },
      .finalize_task =
          [task = task] {
            call_user("the task's finalize", ErrorInside::is_named, [&] { task->finalize(); });
          },
      .records = records,
      .events = events,
      .trace_window = rank == 0 ? trace_window() : std::nullopt,
      .evaluation = evaluation(),
      .infers = inference != nullptr,
      .num_nodes = plan().num_nodes(),
      .tokens_before = counted_before("tokens_total"),
      .world_collective = collective_id(rank, step_group),
      .first_step_timeout = std::chrono::seconds(config.timeout.init_timeout),
      .step_timeout = std::chrono::seconds(config.timeout.step_timeout),
      .checkpoint_timeout = std::chrono::seconds(config.timeout.checkpoint_timeout),
      .sleep_file = sleep_file(job(), rank),
      .links = std::move(links),
      .world_size = plan().world_size(),
      .roll_backs = {.count_max = static_cast<std::uint64_t>(config.checkpointing.roll_backs_max),
                     .before = counted_before("roll_backs"),
                     .kept = static_cast<std::uint64_t>(config.checkpointing.num_to_keep.value_or(0))},
      .checkpoint_dir =
          [&job = job(), resumed = membership().resume_from,
           at = membership().resume_step](std::uint64_t step) {
            if (!resumed.empty() && step == at) return resumed;
            return join_path(checkpoint_dir(job).string(), checkpoint_name(step));
          },
      .resumed_step =
          membership().resume_from.empty() ? std::nullopt : std::optional(membership().resume_step),
      .saves = config.checkpointing.period_steps.kind != config::Period::Kind::disable,
      .ended_before = ended_before()};
  for (const config::Named& actor : job().actors) options.actor_names.push_back(actor.name);
  if (const nlohmann::json factor = kept_before("lr_factor"); factor.is_number())
    options.lr_factor = factor.get<double>();
  if (const nlohmann::json factor = kept_before("lr_factor_wanted"); rank == 0 && factor.is_number())
    options.lr_factor_wanted = factor.get<double>();
  if (const nlohmann::json wanted = kept_before("end_wanted"); rank == 0 && wanted.is_string())
    options.end_wanted = wanted.get<std::string>();
  return {at(Role::trainer), Threading::pool, factory_of<Trainer>(std::move(options)), true};
}

// Those that the task counts in evaluations.
void require_metric(const std::string& metric, TrainTask& task) {
  if (metric == "loss") return;
  Compose metrics;
  task.create_metrics(metrics);
  std::string names;
  for (const auto& [name, value] : metrics.compute(metrics.state())) {
    if (name == metric) return;
    names += ", " + name;
  }
  throw Error(ErrorKind::input,
              fmt::format("evaluation.metric: the task counts no \"{}\"; there is loss{}", metric, names));
}

// As many batches as the pipeline has ranks are under way at a time, and one more.
std::optional<EvaluationOptions> RankCast::evaluation() const {
  if (!job().evaluation) return std::nullopt;
  const EvaluationConfig& config = *job().evaluation;
  EvaluationOptions options{.batches = process.evaluation_batches,
                            .due = evaluation_due(job(), total_steps()),
                            .ahead = static_cast<std::uint64_t>(plan().parameters().pipeline_parallel),
                            .metric = config.metric,
                            .higher_is_better = higher_is_better(config).value_or(false)};
  if (rank == 0) require_metric(config.metric, *task);
  if (!config.stop_after) return options;
  options.stopping.emplace(EarlyStoppingOptions{.stop_after = static_cast<std::uint64_t>(*config.stop_after),
                                                .min_delta = config.min_delta,
                                                .higher_is_better = options.higher_is_better});
  // A run that is told to train on after its end counts anew.
  const nlohmann::json counted = kept_before("early_stopping");
  if (counted.is_object() && kept_before("ended").is_null()) options.stopping->load_state(counted);
  return options;
}

// Of what both loaders have in common.
SourceFeedOptions RankCast::feed(std::int64_t batches) const {
  const BatchingConfig& batching = job().trainer.batching;
  const auto& model = process.loaded.model;  // null: a plugin's
  BatchMaths maths = batch_maths(batching.global_batch_size / batches, batching.microbatch_size,
                                 plan().parameters().data_parallel());
  if (batching.cut_to_longest) maths.cut_unit = sequence_unit(job());
  return {.collation = process.collation,
          .maths = maths,
          .data_rank = placement.data,
          .task = task,
          .counts = placement.pipeline == 0 && placement.tensor == 0,
          .place = context_place(plan(), rank, job().parallelism.context.order),
          .prediction_depths = model ? model->prediction_depths : 0,
          .flops_per_token = flops_per_token(job(), model.get()),
          .threads = process.threads_per_rank,
          .table = &epoch.table()};
}

CastMember RankCast::loader() const {
  SourceFeedOptions training = feed(process.phases.num_batches());
  training.phases = process.phases;
  training.source = process.source;
  training.declare_metrics = metrics();
  training.first_step = membership().resume_step + 1;
  training.first_sample = membership().resume_sample;
  training.end_sample = process.end_sample;
  training.numbers_samples = inference != nullptr;
  return {at(Role::loader), Threading::own_thread,
          factory_of<Loader>(Loader::MakeFeed([training, events = events] {
            events->tell(events::ConfigurationDataStream{training.source.get()});
            return make_source_feed(training);
          })),
          true};
}

CastMember RankCast::evaluation_loader() const {
  SourceFeedOptions evaluation = feed(1);
  evaluation.phase = process.phases.first_training();
  evaluation.source = process.evaluation_source;
  evaluation.declare_metrics = [task = task](Compose& metrics) { task->create_metrics(metrics); };
  evaluation.cycle_steps = process.evaluation_batches;
  evaluation.end_sample = process.evaluation_end;
  evaluation.shortens_last = true;
  return {at(Role::evaluation_loader), Threading::own_thread,
          factory_of<Loader>(Loader::MakeFeed([evaluation] { return make_source_feed(evaluation); })), true};
}

CastMember RankCast::metric_collector() const {
  MetricCollectorOptions options{
      .rank = rank,
      .collective = collective_id(rank, metric_group),
      .create = metrics(),
      .create_evaluation = [task = task](Compose& metrics) { task->create_metrics(metrics); }};
  return {at(Role::metric_collector), Threading::pool, factory_of<MetricCollector>(std::move(options))};
}

// The model's subscriptions before the task's.
std::shared_ptr<const RankEvents> events_of(const ProcessServices& process, TrainTask& task, int rank) {
  auto events = std::make_shared<RankEvents>(rank, process.job().inference.has_value());
  call_user("the model's register_events", ErrorInside::is_named,
            [&] { process.model->register_events(*events); });
  call_user("the task's register_events", ErrorInside::is_named, [&] { task.register_events(*events); });
  events->close();
  return events;
}

}  // namespace

std::vector<CastMember> make_rank_cast(ProcessServices& process, EpochServices& epoch,
                                       const nlohmann::json& resumed, int rank) {
  const auto inference = process.make_inference_task ? process.make_inference_task(rank) : nullptr;
  const auto task = inference ? as_task(inference) : process.make_task();
  const RankCast cast{.process = process,
                      .epoch = epoch,
                      .resumed = resumed,
                      .rank = rank,
                      .placement = epoch.plan().placement(rank),
                      .schedule = process.schedule(),
                      .inference = inference,
                      .task = task,
                      .events = events_of(process, *task, rank),
                      .hooks = process.make_gradient_hooks(),
                      .gradients = std::make_shared<RankGradients>(),
                      .records = std::make_shared<TaskRecords>(),
                      .communicators = std::make_shared<ReopenedCommunicators>()};
  if (const auto main = resumed.find("0"); main != resumed.end() && main->contains("task"))
    call_user("the task's load_state", ErrorInside::is_named,
              [&] { cast.task->load_state(main->at("task")); });
  std::vector<CastMember> links = cast.link_members();
  std::vector<ActorId> ids;
  for (const CastMember& link : links) ids.push_back(link.id);
  std::vector<CastMember> members{cast.rank_executor(), cast.trainer(std::move(ids)), cast.loader(),
                                  cast.metric_collector()};
  std::move(links.begin(), links.end(), std::back_inserter(members));
  if (process.job().evaluation) members.push_back(cast.evaluation_loader());
  return members;
}

}  // namespace d9d
