#include "actors/trainer.hpp"

#include <algorithm>
#include <utility>

#include "actors/notes/pass.hpp"
#include "messages/event.capnp.h"
#include "messages/lists.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {

const char* name_of(TrainerPhase phase) {
  constexpr const char* names[] = {"waiting for its batch",
                                   "computing",
                                   "waiting for what the job's actors make of the step before",
                                   "reducing loss and norm over all ranks",
                                   "calling its gradient hooks",
                                   "evaluating",
                                   "comparing an evaluation with those before",
                                   "restoring a checkpoint",
                                   "making texts",
                                   "asleep",
                                   "finished"};
  return names[static_cast<int>(phase)];
}

Trainer::Trainer(World& world, TrainerOptions options)
    : Actor(world),
      options_(std::move(options)),
      tokens_total_(options_.tokens_before),
      requests_(options_.roll_backs, options_.lr_factor),
      step_end_(options_.step_end) {
  if (options_.resumed_step) {
    requests_.taken({*options_.resumed_step, options_.step_end.skipped_before});
    requests_.committed(*options_.resumed_step);
  }
  if (!options_.ended_before.empty()) {
    options_.total_steps = options_.resumed_step.value_or(0);
    requests_.end(options_.ended_before);
  }
  if (options_.lr_factor_wanted) requests_.scale_learning_rate(*options_.lr_factor_wanted);
  if (!options_.end_wanted.empty()) requests_.end(options_.end_wanted);
  last_step_ = options_.total_steps;
  if (options_.evaluation) evaluation_.emplace(*options_.evaluation, evaluation_actions());
  set_rank(options_.rank);
}

void Trainer::behavior(Handlers& handlers) {
  handlers.on(this, &Trainer::listeners);
  handlers.on(this, &Trainer::start_training);
  handlers.on(this, &Trainer::batch_ready);
  handlers.on(this, &Trainer::data_ended);
  handlers.on(this, &Trainer::step_computed);
  handlers.on(this, &Trainer::values_reduced);
  handlers.on(this, &Trainer::gradients_hooked);
  handlers.on(this, &Trainer::step_applied);
  handlers.on(this, &Trainer::metric_state);
  handlers.on(this, &Trainer::checkpoint_committed);
  handlers.on(this, &Trainer::signalled);
  handlers.on(this, &Trainer::slept);
  handlers.on(this, &Trainer::wake);
  handlers.on(this, &Trainer::awake);
  handlers.on(this, &Trainer::roll_back);
  handlers.on(this, &Trainer::state_restored);
  handlers.on(this, &Trainer::generate_texts);
  handlers.on(this, &Trainer::metric_values);
  handlers.on(this, &Trainer::end_job);
  handlers.on(this, &Trainer::scale_learning_rate);
  handlers.on(this, &Trainer::events_followed);
  handlers.on(this, &Trainer::state_kept);
  handlers.on(this, &Trainer::tick);
}

void Trainer::started() {
  tell<wire::Ready>(parent(), [&](wire::Ready::Builder ready) { ready.setRank(options_.rank); });
}

void Trainer::listeners(wire::Listeners::Reader message) {
  listened_to_.names.emplace();
  for (const auto name : message.getNames()) listened_to_.names->insert(name);
  for (const std::uint64_t actor : message.getDeciding())
    actors_.deciding.try_emplace(ActorId::from_packed(actor), 0);
  for (const std::uint64_t actor : message.getKeeping()) actors_.keeping.insert(ActorId::from_packed(actor));
  if (!applying_) tell_events();
  reduce_when_followed();
  finish_when_done();  // the answer may be all that was missing
}

void Trainer::start_training(wire::StartTraining::Reader message) {
  first_step_ = current_ = message.getFirstStep();
  set_step(current_);
  started_ = true;
  step_begin_ns_ = world().clock.now_ns();
  // Not earlier, because the EventBus on node 0 may not have been there.
  tell<wire::AskForListeners>({Role::event_bus, 0}, [&](wire::AskForListeners::Builder ask) {
    ask.setRank(static_cast<std::uint32_t>(options_.rank));
  });
  options_.events->tell(events::Ready{current_});
  publish(options_.infers ? "inference.ready" : "train.ready");
  if (!options_.ended_before.empty()) {
    if (options_.rank == 0)
      log::warn(
          "this run was ended after step {} and trains no further ({}). To train on, set "
          "trainer.checkpointing.resume_ended: true",
          current_ - 1, options_.ended_before);
    return after_apply();
  }
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

// Asks for the batches of this step and of the steps that may be loaded ahead.
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
                    .flops = message.getFlops(),
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
  publish(options_.infers ? "inference.forward.pre" : "train.forward_backward.pre");
  computed_ = batch;
  tell<wire::BeginStep>({Role::rank_executor, self().index}, [&](wire::BeginStep::Builder begin) {
    begin.setStep(current_);
    fill_pass(begin.initPass(), {options_.infers ? PassKind::INFER : PassKind::TRAIN, 0});
    fill_list(begin.initMicrobatches(static_cast<unsigned>(batch.microbatches.size())), batch.microbatches);
  });
}

// All ranks do the same here, because all have read the same sums.
void Trainer::obey(const AgreedWishes& wishes) {
  if (wishes.stop_signal != 0) {
    stop_signal_ = wishes.stop_signal;
    last_step_ = current_;
  }
  const bool asked = wishes.save || wishes.stop_signal != 0;
  save_asked_ = save_asked_ || (asked && options_.saves);
  sleep_.asked = sleep_.asked || wishes.sleep;
  if (wishes.save && !options_.saves && options_.rank == 0) {
    log::warn("SIGUSR1: checkpointing is off, nothing was saved; set trainer.checkpointing.period_steps");
  }
}

// Makes this step the job's last one. An evaluation or texts that are due with it still run.
void Trainer::end_here() {
  if (std::exchange(ended_, true)) return;
  last_step_ = current_;
  save_asked_ = save_asked_ || options_.saves;
  if (options_.rank == 0) log::info("the job ends after step {}: {}", current_, requests_.why_it_ends());
}

void Trainer::after_apply() {
  const bool trained = current_ <= options_.total_steps;
  const std::uint64_t done = trained ? current_ : current_ - 1;
  if (trained) {
    const bool asked = std::exchange(save_asked_, false);
    if (asked || options_.checkpoint_due(done))
      snapshot_wanted_ = DueSave{done, next_sample_, tokens_total_, step_end_.skipped()};
    ++current_;
  }
  phase_ = done >= last_step_ ? Phase::finished : Phase::waiting;
  if (phase_ == Phase::waiting) ask_for_batches();
  if (snapshot_wanted_ && !snapshot_in_flight_) take_snapshot();
  if (std::exchange(sleep_.asked, false) && phase_ == Phase::waiting) return fall_asleep(done);
  finish_when_done();
  advance();
  if (phase_ != Phase::finished || applying_) arm_deadline();
}

void Trainer::finish_when_done() {
  const bool saving = snapshot_in_flight_ || snapshot_wanted_;
  // finalize_task() waits, because a Loader may be calling the task on its own thread.
  const bool loading = loaded_ < asked_for_ || (evaluation_ && evaluation_->loading());
  const bool knows_listeners = listened_to_.names.has_value();
  if (phase_ != Phase::finished || applying_ || saving || loading || !knows_listeners || told_finished_)
    return;
  told_finished_ = true;
  current_ = last_step_;
  options_.finalize_task();
  tell_records();
  options_.events->tell(events::Finished{last_step_, stop_signal_});
  publish(std::string(options_.infers ? "inference." : "train.") +
          (stop_signal_ == 0 ? "finished" : "stopped"));
  tell<wire::RankFinished>(parent(), [&](wire::RankFinished::Builder finished) {
    finished.setRank(options_.rank);
    finished.setStep(last_step_);
    finished.setSignal(static_cast<std::uint32_t>(stop_signal_));
    if (ended_ || !options_.ended_before.empty()) finished.setEnded(requests_.why_it_ends());
  });
}

void Trainer::publish(const std::string& event, const std::string& context) {
  if (options_.infers && event.starts_with("train.")) return;  // of a sleep: inference has none
  if (!listened_to_.maybe(event)) return;
  events_.push_back({event, current_, context});
  if (!applying_) tell_events();
}

// Events wait here until the EventBus has said which ones have listeners.
void Trainer::tell_events() {
  if (!listened_to_.names) return;
  for (const Announcement& announced : std::exchange(events_, {})) {
    if (!listened_to_.maybe(announced.event)) continue;
    if (announced.event == "train.step.post" || announced.event == "train.evaluation.post") ++actors_.told;
    tell<wire::Publish>({Role::event_bus, 0}, [&](wire::Publish::Builder publish) {
      publish.setName(announced.event);
      publish.setStep(announced.step);
      publish.setContext(announced.context);
      publish.setRank(static_cast<std::uint32_t>(options_.rank));
    });
  }
}

void Trainer::arm_deadline(bool links_are_new) {
  const auto timeout =
      links_are_new || current_ == first_step_ ? options_.first_step_timeout : options_.step_timeout;
  tell_self_after<wire::Tick>(timeout, [&](wire::Tick::Builder tick) {
    tick.setKind(step_deadline);
    tick.setValue(current_);
  });
}

void Trainer::tick(wire::Tick::Reader message) {
  if (message.getKind() == checkpoint_deadline) return require_commit_of(message.getValue());
  if (message.getValue() != current_ || (phase_ == Phase::finished && !applying_)) return;
  if (phase_ == Phase::sleeping) return;           // awake() sets a new deadline
  if (snapshot_in_flight_) return arm_deadline();  // a slow disk is not a hanging step
  const bool evaluates = phase_ == Phase::evaluating || phase_ == Phase::comparing;
  if (evaluates && evaluation_->take_progress()) return arm_deadline();
  throw Error(
      ErrorKind::environment,
      fmt::format("rank {} did not finish step {} in time: it is {}. Raise trainer.timeout if the step is "
                  "really that slow",
                  options_.rank, applying_.value_or(current_),
                  applying_ ? "updating the parameters" : name_of(phase_)));
}

}  // namespace d9d
