#include "actors/job/cast/rank_cast.hpp"

#include <iterator>

#include "actors/job/folder/run_folders.hpp"
#include "actors/loop/inferrer.hpp"
#include "actors/loop/trainer.hpp"
#include "actors/rank_executor.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/held_json.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/comm/decorators/reopened.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/device/device.hpp"
#include "runtime/family/families.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/job/rule/evaluation_rules.hpp"
#include "runtime/job/rule/parameter_patterns.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/rank/group/rank_gradients.hpp"
#include "runtime/rank/job_pieces.hpp"
#include "runtime/rank/measured/rank_metrics.hpp"
#include "runtime/rank/pass/phase_losses.hpp"
#include "runtime/rank/pipeline_worker.hpp"
#include "runtime/resume/schedule_steps.hpp"
#include "runtime/state/checkpoint/checkpoint_commit.hpp"
#include "runtime/task/inference_as_task.hpp"
#include "runtime/task/rank_context.hpp"
#include "runtime/task/task.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {
namespace {

// Returns an empty text for a family of d9d.
std::string name_of_users_model(const ModelProviderConfig& choice) {
  if (const auto* const named = std::get_if<config::Named>(&choice)) return named->name;
  const Family* const family = std::get<FamilyProvider>(choice).model.family;
  return family != nullptr && is_own(*family) ? std::string(family->name()) : std::string();
}

// Returns an empty text for a built-in piece.
template <class Choice>
std::string name_of_plugin(const Choice& choice) {
  const auto* const named = std::get_if<config::Named>(&choice);
  return named == nullptr ? std::string() : named->name;
}

// Input error, with the names there are, if the task's evaluations have no such metric.
void require_metric(const std::string& metric, TrainTask& task) {
  if (metric == "loss") return;
  Compose metrics;
  declare_task_metrics(task, metrics);
  std::string names;
  for (const auto& [name, value] : metrics.compute(metrics.state())) {
    if (name == metric) return;
    names += ", " + name;
  }
  throw Error(ErrorKind::input,
              fmt::format("evaluation.metric: the task counts no \"{}\"; there is loss{}", metric, names));
}

bool has_rollouts(const PreparedJob& prepared) {
  return prepared.source && prepared.source->is_rollouts();  // tests of casts have no source
}

// Lets the model subscribe to events, and then the task.
std::shared_ptr<const RankEvents> events_of(const ProcessServices& process, const Plan& plan, TrainTask& task,
                                            int rank) {
  auto events = std::make_shared<RankEvents>(rank, process.job().inference.has_value(), &plan);
  call_user("the model's register_events", ErrorInside::is_named,
            [&] { process.prepared.model->register_events(*events); });
  call_user("the task's register_events", ErrorInside::is_named, [&] { task.register_events(*events); });
  events->close();
  return events;
}

}  // namespace

std::vector<std::string> actor_names(const JobConfig& job) {
  std::vector<std::string> names;
  for (const config::Named& actor : job.actors) names.push_back(actor.name);
  return names;
}

std::optional<TraceWindow> RankCast::trace_window() const {
  const auto& profiling = job().trainer.profiling;
  if (!profiling || !profiling->enabled || !job().node.trace) return std::nullopt;
  return TraceWindow{static_cast<std::uint64_t>(profiling->period_steps),
                     static_cast<std::uint64_t>(profiling->active_steps), membership().resume_step + 1};
}

std::uint64_t RankCast::total_steps() const {
  return last_step_of(job(), process.prepared.num_samples, position());
}

StepEndOptions RankCast::step_end() const {
  const GradientClippingConfig& clipping = job().trainer.gradient_clipping;
  return {.clipping = {clipping.max_norm, clipping.norm_type},
          .non_finite = job().trainer.non_finite_gradients,
          .skipped_before = skipped_updates(),
          .has_hooks = !hooks.empty()};
}

std::vector<std::uint64_t> RankCast::skipped_updates() const {
  return resumed.skipped_updates(process.prepared.phases.updates().size());
}

std::function<void(Compose&)> RankCast::metrics() const {
  return [&job = job(), model = process.loaded.model, task = task, hooks = hooks,
          phases = process.prepared.phases](Compose& metrics) {
    declare_metrics(job, model.get(), *task, hooks, metrics);
    declare_phase_losses(phases, metrics);
  };
}

RankServices RankCast::services() const {
  return {.rank = rank,
          .plan = &plan(),
          .device = epoch.device_of(rank),
          .synchronous_device = job().debug.synchronous_device,
          .threads = process.threads_per_rank,
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
          .gradients = gradients,
          .table = &epoch.table()};
}

ModelOptions RankCast::model_options() const {
  return {.provider = process.prepared.model,
          .plugin_name = name_of_users_model(job().model_provider),
          .patterns = process.loaded.model ? std::map<std::string, std::string>{} : parameter_patterns(job()),
          .trains = inference == nullptr,
          .updates = process.prepared.phases.updates(),
          .parallel = job().parallelism,
          .seed = static_cast<std::uint64_t>(job().trainer.determinism.base_seed),
          .gradients = job().trainer.gradient_manager,
          .norm = job().trainer.gradient_clipping.norm_type,
          .optimizer = process.prepared.optimizer,
          .optimizer_plugin_name = name_of_plugin(job().optimizer),
          .lr_schedule = process.prepared.lr_schedule,
          .events = events};
}

TaskOptions RankCast::task_options() const {
  return {.task = task,
          .plugin_name = name_of_plugin(job().task),
          .phases = process.prepared.phases,
          .inference = inference,
          .evaluates = job().evaluation.has_value(),
          .hooks = hooks,
          .begin =
              [task = task, records = records](RankContext context) {
                context.record = [records](TaskRecord record) { records->add(std::move(record)); };
                task->begin(context);
              },
          .context = process.prepared.registry.context(),
          .first_step = membership().resume_step + 1};
}

PipelineWorkerOptions RankCast::worker_options() const {
  const auto& pipelining = job().trainer.pipelining;
  const auto& weights = job().trainer.model_stage_factory;
  return {.services = services(),
          .order = {.schedule = process.prepared.schedule,
                    .search = process.schedule_search,
                    .cursor = pipelining.order,
                    .extra_activations = pipelining.extra_activations,
                    .follows = own.same_order.front() != rank,
                    .overlap = pipelining.overlap},
          .model = model_options(),
          .state = {.disk = &process.disk,
                    .source_checkpoint = weights.source_checkpoint.value_or(""),
                    .tokenizer = process.prepared.tokenizer,
                    .only_trainable = weights.checkpoint_only_trainable_parameters,
                    .resume_from = membership().resume_from,
                    .skipped = skipped_updates(),
                    .awake = epoch.awake_ranks()},
          .task = task_options(),
          .metrics = {.declare = metrics(),
                      .states = resumed.metrics_of(rank, plan().world_size()),
                      .watched = job().trainer.logging.statistics,
                      .logs_expert_load = logs_expert_load(job(), process.loaded.model.get())}};
}

std::vector<int> RankCast::same_samples() const {
  std::vector<int> ranks;
  for (int other = 0; other < plan().world_size(); ++other) {
    if (plan().placement(other).data == own.place.data) ranks.push_back(other);
  }
  return ranks;
}

CastMember RankCast::rank_executor() const {
  RankExecutorOptions options{
      .rank = rank,
      .updates = process.prepared.phases.num_updates(),
      .make_worker =
          [worker = worker_options()](BucketObserver& buckets, CommTracing tracing) {
            return make_pipeline_worker(worker, buckets, std::move(tracing));
          },
      .rank_of_stage = own.rank_of_stage,
      .remote_ranks = own.remote_ranks,
      .collectives = links().gradient_collectives(),
      .checkpoint_writer = {Role::checkpoint_writer, static_cast<std::uint64_t>(own.place.node)},
      .norm = job().trainer.gradient_clipping.norm_type,
      .traces_kernels = trace_window(),
      .events = events,
      .communicators = communicators,
      .a_step_has_ended = [&epoch = epoch, rank = rank] { epoch.a_step_has_ended(rank); }};
  if (has_rollouts(process.prepared)) options.same_samples = same_samples();
  if (own.same_order.front() == rank)
    options.followers.assign(own.same_order.begin() + 1, own.same_order.end());
  return {at(Role::rank_executor), Threading::own_thread, factory_of<RankExecutor>(std::move(options)), true};
}

std::function<double(std::uint64_t)> RankCast::lr_multiplier() const {
  const ScheduleSteps steps(job(), process.prepared.num_samples, position(), epoch.first_batch());
  return [steps, multiplier = step_multiplier(*process.prepared.lr_schedule, steps.total())](
             std::uint64_t step) { return multiplier(steps.of(step)); };
}

SaveOptions RankCast::saves() const {
  const TrainerConfig& config = job().trainer;
  return {.on = config.checkpointing.period_steps.kind != config::Period::Kind::disable,
          .due = checkpoint_due(job(), total_steps()),
          .temporary_dir = [&job = job(), tag = membership().tag](
                               std::uint64_t step) { return temporary_checkpoint_dir(job, tag, step); },
          .commit_timeout = std::chrono::seconds(config.timeout.checkpoint_timeout)};
}

RunBefore RankCast::run_before() const {
  RunBefore before{.tokens = resumed.counted("tokens_total")};
  if (!membership().resume_from.empty()) before.step = membership().resume_step;
  const nlohmann::json wanted = resumed.kept("end_wanted"), ended = resumed.kept("ended");
  if (rank == 0 && wanted.is_string()) before.end_wanted = wanted.get<std::string>();
  if (ended.is_string() && !job().trainer.checkpointing.resume_ended) before.ended = ended.get<std::string>();
  return before;
}

UsersOfSteps RankCast::users() const {
  return {.task_state =
              [task = task] {
                const nlohmann::json state =
                    call_user("the task's state", ErrorInside::is_named, [&] { return task->state(); });
                require_json_holds(state, "state() of the task");
                return json_text(state);
              },
          .finalize_task =
              [task = task] {
                call_user("the task's finalize", ErrorInside::is_named, [&] { task->finalize(); });
              },
          .records = records,
          .events = events,
          .actor_names = actor_names(job())};
}

ShownSteps RankCast::shown() const {
  ShownSteps shown{.metrics_due = metrics_due(job(), total_steps())};
  if (rank != 0) return shown;
  shown.trace_window = trace_window();
  shown.max_pending_steps = job().trainer.logging.max_pending_steps;
  return shown;
}

StepLoopOptions RankCast::step_loop(std::vector<ActorId> links) const {
  const TrainerConfig& config = job().trainer;
  return {.rank = rank,
          .world_size = plan().world_size(),
          .num_nodes = plan().num_nodes(),
          .total_steps = total_steps(),
          .phases = process.prepared.phases,
          .prefetch_steps = static_cast<std::uint64_t>(config.data_prefetch.prefetch_factor),
          .counts_tokens = own.counts_tokens,
          .world_collective = collective_id(rank, step_group),
          .saves = saves(),
          .deadlines = {std::chrono::seconds(config.timeout.init_timeout),
                        std::chrono::seconds(config.timeout.step_timeout)},
          .before = run_before(),
          .users = users(),
          .shown = shown(),
          .sleep = {std::move(links), sleep_file(job(), rank)}};
}

TrainingOptions RankCast::training() const {
  const CheckpointingConfig& checkpointing = job().trainer.checkpointing;
  TrainingOptions options{
      .lr_multiplier = lr_multiplier(),
      .base_lr = base_learning_rate(*process.prepared.optimizer),
      .step_end = step_end(),
      .evaluation = evaluation(),
      .roll_backs = {.count_max = static_cast<std::uint64_t>(checkpointing.roll_backs_max),
                     .before = resumed.counted("roll_backs"),
                     .kept = static_cast<std::uint64_t>(checkpointing.num_to_keep.value_or(0))},
      .checkpoint_dir = [&job = job(), resumed = membership().resume_from,
                         at = membership().resume_step](std::uint64_t step) {
        if (!resumed.empty() && step == at) return resumed;
        return join_path(checkpoint_dir(job).string(), checkpoint_name(step));
      }};
  if (const nlohmann::json factor = resumed.kept("lr_factor"); factor.is_number())
    options.lr_factor = factor.get<double>();
  if (const nlohmann::json factor = resumed.kept("lr_factor_wanted"); rank == 0 && factor.is_number())
    options.lr_factor_wanted = factor.get<double>();
  options.owed = owed_work_of(resumed.kept("owed"), actor_names(job()));
  return options;
}

CastMember RankCast::trainer_or_inferrer(std::vector<ActorId> links) const {
  StepLoopOptions loop = step_loop(std::move(links));
  ActorFactory factory =
      inference ? factory_of<Inferrer>(std::move(loop))
                : factory_of<Trainer>(TrainerOptions{.loop = std::move(loop), .training = training()});
  return {at(Role::trainer), Threading::own_thread, std::move(factory), true};
}

std::optional<EvaluationOptions> RankCast::evaluation() const {
  if (!job().evaluation) return std::nullopt;
  const EvaluationConfig& config = *job().evaluation;
  EvaluationOptions options{.batches = process.prepared.evaluation_batches,
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
  const nlohmann::json counted = resumed.kept("early_stopping");
  if (counted.is_object() && resumed.kept("ended").is_null()) options.stopping->load_state(counted);
  return options;
}

std::vector<CastMember> make_rank_cast(ProcessServices& process, EpochServices& epoch,
                                       const ResumedState& resumed, int rank) {
  const PreparedJob& prepared = process.prepared;
  const JobConfig& job = process.job();
  const auto inference =
      job.inference ? make_inference_task(prepared.registry, job, rank, prepared.source) : nullptr;
  const auto task = inference ? as_task(inference) : make_task(prepared.registry, job);
  const RankCast cast{.process = process,
                      .epoch = epoch,
                      .resumed = resumed,
                      .rank = rank,
                      .own = plan_rank(job, prepared.plan, epoch.plan(), rank),
                      .inference = inference,
                      .task = task,
                      .events = events_of(process, epoch.plan(), *task, rank),
                      .hooks = make_gradient_hooks(prepared.registry, job),
                      .gradients = std::make_shared<RankGradients>(),
                      .records = std::make_shared<TaskRecords>(),
                      .communicators = std::make_shared<ReopenedCommunicators>()};
  if (const auto state = resumed.find("task"))
    call_user("the task's load_state", ErrorInside::is_named, [&] { task->load_state(*state); });
  // A text goes around: the last stage's tokens are the first one's next inputs.
  const bool writes_texts =
      (inference && inference->passes() > 1) || !job.actors.empty() || has_rollouts(prepared);
  std::vector<CastMember> links = cast.links().all(writes_texts);
  std::vector<ActorId> ids;
  for (const CastMember& link : links) ids.push_back(link.id);
  std::vector<CastMember> members{cast.rank_executor(), cast.trainer_or_inferrer(std::move(ids)),
                                  cast.loader(), cast.metric_collector()};
  std::move(links.begin(), links.end(), std::back_inserter(members));
  if (job.evaluation) members.push_back(cast.evaluation_loader());
  return members;
}

}  // namespace d9d
