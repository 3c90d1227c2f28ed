#include "actors/trainer.hpp"

#include <algorithm>
#include <utility>

#include "actors/reduce_operation.hpp"
#include "messages/event.capnp.h"
#include "messages/lists.hpp"
#include "messages/trace.capnp.h"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

enum Deadline : std::uint32_t { step_deadline = 0, checkpoint_deadline = 1 };

const char* name_of(int phase) {
  constexpr const char* names[] = {"waiting for its batch", "computing",
                                   "reducing loss and norm over all ranks", "evaluating", "finished"};
  return names[phase];
}

// Of the event after a step. JSON has no number that is not finite.
std::string context_of(const StepResult& result) {
  if (result.skips) return R"({"loss":null,"grad_norm":null,"skipped":true})";
  return fmt::format(R"({{"loss":{},"grad_norm":{}}})", result.scale.loss, result.scale.norm);
}

}  // namespace

Trainer::Trainer(World& world, TrainerOptions options)
    : Actor(world),
      options_(std::move(options)),
      tokens_total_(options_.tokens_before),
      step_end_(options_.step_end) {
  last_step_ = options_.total_steps;
  if (options_.evaluation) evaluation_.emplace(*options_.evaluation, evaluation_actions());
  set_rank(options_.rank);
}

void Trainer::behavior(Handlers& handlers) {
  handlers.on(this, &Trainer::start_training);
  handlers.on(this, &Trainer::batch_ready);
  handlers.on(this, &Trainer::data_ended);
  handlers.on(this, &Trainer::step_computed);
  handlers.on(this, &Trainer::values_reduced);
  handlers.on(this, &Trainer::step_applied);
  handlers.on(this, &Trainer::metric_state);
  handlers.on(this, &Trainer::checkpoint_committed);
  handlers.on(this, &Trainer::signalled);
  handlers.on(this, &Trainer::tick);
}

void Trainer::started() {
  tell<wire::Ready>(parent(), [&](wire::Ready::Builder ready) { ready.setRank(options_.rank); });
}

void Trainer::start_training(wire::StartTraining::Reader message) {
  first_step_ = current_ = message.getFirstStep();
  started_ = true;
  step_begin_ns_ = world().clock.now_ns();
  publish(options_.infers ? "inference.ready" : "train.ready");
  if (current_ > options_.total_steps) {
    log::info("the checkpoint is at step {} and the job has {}: nothing left to {}", current_ - 1,
              counted(options_.total_steps, "step"), options_.infers ? "infer" : "train");
    after_apply();
    return;
  }
  asked_for_ = loaded_ = current_ - 1;
  ask_for_batches();
  arm_deadline();
}

// Of this step and of those that may be loaded ahead of it.
void Trainer::ask_for_batches() {
  const std::uint64_t last = std::min(current_ + options_.prefetch_steps, options_.total_steps);
  if (last <= asked_for_) return;
  tell<wire::LoadBatches>({Role::loader, self().index}, [&](wire::LoadBatches::Builder load) {
    load.setStep(asked_for_ + 1);
    load.setCredits(static_cast<std::uint32_t>(last - asked_for_));
  });
  asked_for_ = last;
}

void Trainer::batch_ready(wire::BatchReady::Reader message) {
  LoadedBatch batch{.step = message.getStep(),
                    .microbatches = to_vector<std::uint64_t>(message.getMicrobatches()),
                    .tokens = message.getTokens(),
                    .next_sample = message.getNextSample()};
  if (sender().role == Role::evaluation_loader) {
    evaluation_->loaded(std::move(batch));
  } else {
    loaded_ = batch.step;
    batches_.push_back(std::move(batch));
    advance();
  }
  finish_when_done();
}

void Trainer::data_ended(wire::DataEnded::Reader message) {
  if (phase_ == Phase::finished) {  // stopped by a signal before that step
    loaded_ = asked_for_;
    return finish_when_done();
  }
  throw Error(
      ErrorKind::input,
      fmt::format(
          "the data ends before step {} of {}: lower trainer.schedule.total_steps, or raise data.epochs "
          "(or set it to as_needed)",
          message.getStep(), options_.total_steps));
}

void Trainer::advance() {
  if (phase_ != Phase::waiting || !started_ || snapshot_wanted_ || batches_.empty()) return;
  const LoadedBatch batch = std::move(batches_.front());
  batches_.pop_front();
  begin(batch);
}

void Trainer::begin(const LoadedBatch& batch) {
  D9D_CHECK(batch.step == current_, "batch of step {} for step {}", batch.step, current_);
  set_step(current_);
  phase_ = Phase::computing;
  next_sample_ = batch.next_sample;
  publish(options_.infers ? "inference.step.pre" : "train.step.pre");
  tokens_ = batch.tokens;
  tell<wire::BeginStep>({Role::rank_executor, self().index}, [&](wire::BeginStep::Builder begin) {
    begin.setStep(current_);
    begin.setEvaluation(options_.infers ? 1 : 0);
    fill_list(begin.initMicrobatches(static_cast<unsigned>(batch.microbatches.size())), batch.microbatches);
  });
  publish(options_.infers ? "inference.forward.pre" : "train.forward_backward.pre");
}

void Trainer::step_computed(wire::StepComputed::Reader message) {
  if (message.getEvaluation() > 0 && !options_.infers) return evaluated(message);
  D9D_CHECK(phase_ == Phase::computing && message.getStep() == current_,
            "step {} was computed while step {} is {}", message.getStep(), current_,
            name_of(static_cast<int>(phase_)));
  phase_ = Phase::reducing;
  publish(options_.infers ? "inference.forward.post" : "train.forward_backward.post");
  StepTotals mine{.loss_sum = message.getLossSum(),
                  .weight_sum = message.getWeightSum(),
                  .norm_share = message.getNormShare(),
                  .tokens = options_.counts_tokens ? static_cast<double>(tokens_) : 0,
                  .costs = to_vector<double>(message.getCosts())};
  wishes_.add_to(mine);
  if (options_.infers) return reduce_over_world({ReduceOp::sum, to_values(mine)});
  for (const StepReduction& reduction : step_end_.reductions_of(mine)) reduce_over_world(reduction);
}

void Trainer::reduce_over_world(const StepReduction& reduction) {
  tell<wire::ReduceValues>(options_.world_collective, [&](wire::ReduceValues::Builder reduce) {
    reduce.setOrder(reductions_++);
    reduce.setStep(current_);
    reduce.setOperation(reduce_operations.to_wire(reduction.operation));
    fill_list(reduce.initValues(static_cast<unsigned>(reduction.values.size())), reduction.values);
  });
}

void Trainer::values_reduced(wire::ValuesReduced::Reader message) {
  if (phase_ == Phase::evaluating) return evaluated(message);
  const auto values = to_vector<double>(message.getValues());
  if (options_.infers) return inferred(step_totals_from(values));
  const auto result = step_end_.add(values);
  if (!result) return;
  collect_metrics_when_due(result->totals);
  apply(*result);
  report(*result);
  obey(agreed_wishes(result->totals));
  if (evaluation_ && stop_signal_ == 0 && evaluation_->due(current_)) return evaluate();
  after_apply();
}

void Trainer::inferred(const StepTotals& totals) {
  report({.totals = totals, .scale = {}});
  obey(agreed_wishes(totals));
  after_apply();
}

// The same on all ranks, because all of them have read the same sums.
void Trainer::obey(const AgreedWishes& wishes) {
  if (wishes.stop_signal != 0) {
    stop_signal_ = wishes.stop_signal;
    last_step_ = current_;
  }
  const bool asked = wishes.save || wishes.stop_signal != 0;
  save_asked_ = asked && options_.saves;
  if (wishes.save && !options_.saves && options_.rank == 0) {
    log::warn("SIGUSR1: checkpointing is off, nothing was saved; set trainer.checkpointing.period_steps");
  }
}

// Before the optimizer: they are reduced while it works.
void Trainer::collect_metrics_when_due(const StepTotals& totals) {
  if (!options_.metrics_due(current_)) return;
  tell<wire::CollectMetrics>({Role::rank_executor, self().index}, [&](wire::CollectMetrics::Builder collect) {
    collect.setStep(current_);
    collect.setGradientScale(1 / totals.weight_sum);
  });
}

// An update that is skipped has no events.
void Trainer::apply(const StepResult& result) {
  D9D_CHECK(!applying_, "step {} is applied while the optimizer works on step {}", current_, *applying_);
  if (!result.skips) publish("train.optimizer_step.pre");
  tell<wire::ApplyStep>({Role::rank_executor, self().index}, [&](wire::ApplyStep::Builder apply) {
    apply.setStep(current_);
    apply.setGradientScale(result.scale.grad);
    apply.setLrMultiplier(options_.lr_multiplier(current_));
    apply.setSkip(result.skips);
    fill_list(apply.initCosts(static_cast<unsigned>(result.totals.costs.size())), result.totals.costs);
  });
  applying_ = current_;
  if (!result.skips) return publish("train.optimizer_step.post");
  if (options_.rank != 0) return;
  log::warn("loss is {} and gradient norm is {}: the update of step {} is skipped, {} so far",
            result.scale.loss, result.scale.norm, current_, counted(step_end_.skipped(), "step"));
}

void Trainer::step_applied(wire::StepApplied::Reader message) {
  D9D_CHECK(applying_ == message.getStep(), "step {} was applied and nobody waits for it", message.getStep());
  applying_.reset();
  tell_events();
  finish_when_done();
}

void Trainer::report(const StepResult& result) {
  const StepScale& scale = result.scale;
  const auto tokens = static_cast<std::uint64_t>(result.totals.tokens);
  const std::int64_t now = world().clock.now_ns();
  record_step(now);
  const double seconds = 1e-9 * static_cast<double>(now - step_begin_ns_);
  step_begin_ns_ = now;
  tokens_total_ += tokens;
  if (options_.rank == 0) {
    tell<wire::StepFinished>({Role::tracker, 0}, [&](wire::StepFinished::Builder finished) {
      finished.setStep(current_);
      finished.setTotalSteps(options_.total_steps);
      finished.setLoss(scale.loss);
      finished.setGradNorm(scale.norm);
      finished.setLearningRate(options_.infers ? 0 : options_.base_lr * options_.lr_multiplier(current_));
      finished.setTokens(tokens);
      finished.setStepSeconds(seconds);
      finished.setWallTime(1e-9 * static_cast<double>(world().clock.wall_ns()));
      finished.setNextSample(next_sample_);
      finished.setTokensTotal(tokens_total_);
      finished.setMetricsFollow(options_.metrics_due(current_));
      finished.setSkippedSteps(step_end_.skipped());
      finished.setInference(options_.infers);
    });
  }
  write_trace_when_due();
  if (options_.infers) return publish("inference.step.post");
  publish("train.step.post", context_of(result));
}

void Trainer::record_step(std::int64_t now_ns) {
  if (world().recorder == nullptr) return;
  if (steps_track_ == 0) steps_track_ = world().recorder->actor(trace::steps_track, options_.rank);
  world().recorder->record({.start_ns = step_begin_ns_,
                            .end_ns = now_ns,
                            .actor = steps_track_,
                            .name = trace_name("step"),
                            .step = static_cast<std::int32_t>(current_),
                            .category = trace::Category::step});
}

void Trainer::write_trace_when_due() {
  if (!options_.trace_window || (current_ - first_step_ + 1) % options_.trace_window->period != 0) return;
  for (int node = 0; node < options_.num_nodes; ++node) {
    tell<wire::FlushTrace>(
        {Role::trace_collector, static_cast<std::uint64_t>(node)}, [&](wire::FlushTrace::Builder flush) {
          flush.setLabel(fmt::format("step_{}", current_));
          flush.setNodes(static_cast<std::uint32_t>(options_.num_nodes));
          flush.setFromStep(static_cast<std::int32_t>(current_ - options_.trace_window->active + 1));
        });
  }
}

void Trainer::after_apply() {
  const bool trained = current_ <= options_.total_steps;
  const std::uint64_t done = trained ? current_ : current_ - 1;
  if (trained) {
    const bool asked = std::exchange(save_asked_, false);
    if (asked || options_.checkpoint_due(done))
      snapshot_wanted_ = Save{done, next_sample_, tokens_total_, step_end_.skipped()};
    ++current_;
  }
  phase_ = done >= last_step_ ? Phase::finished : Phase::waiting;
  if (phase_ == Phase::waiting) ask_for_batches();
  if (snapshot_wanted_ && !snapshot_in_flight_) take_snapshot();
  finish_when_done();
  advance();
  if (phase_ != Phase::finished || applying_) arm_deadline();
}

void Trainer::take_snapshot() {
  const std::uint64_t step = snapshot_wanted_->step;
  snapshot_in_flight_ = std::exchange(snapshot_wanted_, std::nullopt);
  tell<wire::Snapshot>({Role::rank_executor, self().index}, [&](wire::Snapshot::Builder snapshot) {
    snapshot.setStep(step);
    snapshot.setDirectory(options_.temporary_checkpoint_dir(step));
  });
  tell_self_after<wire::Tick>(options_.checkpoint_timeout, [&](wire::Tick::Builder tick) {
    tick.setKind(checkpoint_deadline);
    tick.setValue(step);
  });
}

void Trainer::metric_state(wire::MetricState::Reader message) {
  D9D_CHECK(snapshot_in_flight_ && snapshot_in_flight_->step == message.getStep(),
            "metric state of step {} came without a snapshot of it", message.getStep());
  const std::string metrics = message.getState();
  const std::string task = options_.rank == 0 ? options_.task_state() : "{}";
  tell<wire::CheckpointState>({Role::coordinator, 0}, [&](wire::CheckpointState::Builder state) {
    state.setStep(message.getStep());
    state.setRank(options_.rank);
    state.setNextSample(snapshot_in_flight_->next_sample);
    const auto loss = evaluation_ ? evaluation_->loss_after(message.getStep()) : std::nullopt;
    state.setState(fmt::format(R"({{"metrics":{},"task":{},"tokens_total":{},"skipped_steps":{}{}}})",
                               metrics, task, snapshot_in_flight_->tokens_total, snapshot_in_flight_->skipped,
                               loss ? fmt::format(R"(,"evaluation_loss":{})", *loss) : ""));
  });
}

void Trainer::checkpoint_committed(wire::CheckpointCommitted::Reader message) {
  if (!snapshot_in_flight_ || snapshot_in_flight_->step != message.getStep()) return;
  snapshot_in_flight_.reset();
  if (snapshot_wanted_) take_snapshot();
  finish_when_done();
  advance();
}

// Into the next step's sums: a step in work is finished.
void Trainer::signalled(wire::Signalled::Reader message) {
  wishes_.add(static_cast<int>(message.getSignal()));
}

void Trainer::finish_when_done() {
  const bool saving = snapshot_in_flight_ || snapshot_wanted_;
  // A Loader may be calling the task.
  const bool loading = loaded_ < asked_for_ || (evaluation_ && evaluation_->loading());
  if (phase_ != Phase::finished || applying_ || saving || loading || told_finished_) return;
  told_finished_ = true;
  current_ = last_step_;
  options_.finalize_task();
  publish(std::string(options_.infers ? "inference." : "train.") +
          (stop_signal_ == 0 ? "finished" : "stopped"));
  tell<wire::RankFinished>(parent(), [&](wire::RankFinished::Builder finished) {
    finished.setRank(options_.rank);
    finished.setStep(last_step_);
    finished.setSignal(static_cast<std::uint32_t>(stop_signal_));
  });
}

void Trainer::publish(const std::string& event, const std::string& context) {
  if (options_.rank != 0) return;
  events_.push_back({event, current_, context});
  if (!applying_) tell_events();
}

void Trainer::tell_events() {
  for (const Announcement& announced : std::exchange(events_, {})) {
    tell<wire::Publish>({Role::event_bus, 0}, [&](wire::Publish::Builder publish) {
      publish.setName(announced.event);
      publish.setStep(announced.step);
      publish.setContext(announced.context);
    });
  }
}

void Trainer::arm_deadline() {
  const auto timeout = current_ == first_step_ ? options_.first_step_timeout : options_.step_timeout;
  tell_self_after<wire::Tick>(timeout, [&](wire::Tick::Builder tick) {
    tick.setKind(step_deadline);
    tick.setValue(current_);
  });
}

void Trainer::tick(wire::Tick::Reader message) {
  if (message.getKind() == checkpoint_deadline) return require_commit_of(message.getValue());
  if (message.getValue() != current_ || (phase_ == Phase::finished && !applying_)) return;
  if (snapshot_in_flight_) return arm_deadline();  // a slow disk is no hanging step
  if (phase_ == Phase::evaluating && evaluation_->take_progress()) return arm_deadline();
  throw Error(
      ErrorKind::environment,
      fmt::format("rank {} did not finish step {} in time: it is {}. Raise trainer.timeout if the step is "
                  "really that slow",
                  options_.rank, applying_.value_or(current_),
                  applying_ ? "updating the parameters" : name_of(static_cast<int>(phase_))));
}

void Trainer::require_commit_of(std::uint64_t step) const {
  if (!snapshot_in_flight_ || snapshot_in_flight_->step != step) return;
  throw Error(
      ErrorKind::environment,
      fmt::format(
          "the checkpoint of step {} was not committed within {} s "
          "(trainer.timeout.checkpoint_timeout): {} is still being written. Raise the deadline if the "
          "disk is really that slow",
          step, std::chrono::duration_cast<std::chrono::seconds>(options_.checkpoint_timeout).count(),
          options_.temporary_checkpoint_dir(step)));
}

}  // namespace d9d
