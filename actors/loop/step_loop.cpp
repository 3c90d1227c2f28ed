#include "actors/loop/step_loop.hpp"

#include <algorithm>

#include "actors/notes/reduce_operation.hpp"
#include "messages/lists.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {

StepLoop::StepLoop(World& world, StepLoopOptions options, Kind kind, StepRequests requests)
    : Actor(world),
      options_(std::move(options)),
      requests_(std::move(requests)),
      saves_(options_.saves.on),
      kind_(kind),
      tokens_total_(options_.before.tokens) {
  if (!options_.before.ended.empty()) {
    options_.total_steps = options_.before.step.value_or(0);
    requests_.end(options_.before.ended);
  }
  if (!options_.before.end_wanted.empty()) requests_.end(options_.before.end_wanted);
  end_.step = options_.total_steps;
  set_rank(options_.rank);
}

void StepLoop::behavior(Handlers& handlers) {
  handlers.on(this, &StepLoop::listeners);
  handlers.on(this, &StepLoop::start_training);
  handlers.on(this, &StepLoop::batch_ready);
  handlers.on(this, &StepLoop::data_ended);
  handlers.on(this, &StepLoop::step_computed);
  handlers.on(this, &StepLoop::values_reduced);
  handlers.on(this, &StepLoop::metric_state);
  handlers.on(this, &StepLoop::checkpoint_committed);
  handlers.on(this, &StepLoop::signalled);
  handlers.on(this, &StepLoop::slept);
  handlers.on(this, &StepLoop::wake);
  handlers.on(this, &StepLoop::awake);
  handlers.on(this, &StepLoop::end_job);
  handlers.on(this, &StepLoop::events_followed);
  handlers.on(this, &StepLoop::step_shown);
  handlers.on(this, &StepLoop::state_kept);
  handlers.on(this, &StepLoop::tick);
}

void StepLoop::started() {
  tell<wire::Ready>(parent(), [&](wire::Ready::Builder ready) { ready.setRank(options_.rank); });
}

void StepLoop::listeners(wire::Listeners::Reader message) {
  listened_to_.names.emplace();
  for (const auto name : message.getNames()) listened_to_.names->insert(name);
  for (const std::uint64_t actor : message.getDeciding())
    actors_.deciding.try_emplace(ActorId::from_packed(actor), 0);
  for (const std::uint64_t actor : message.getKeeping()) actors_.keeping.insert(ActorId::from_packed(actor));
  if (!applying_) tell_events();
  reduce_when_followed();
  finish_when_done();  // the answer may be all that was missing
}

void StepLoop::start_training(wire::StartTraining::Reader message) {
  first_step_ = current_ = message.getFirstStep();
  shown_ = current_ - 1;
  set_step(current_);
  step_begin_ns_ = world().clock.now_ns();
  // Not earlier, because the EventBus on node 0 may not have been there.
  tell<wire::AskForListeners>({Role::event_bus, 0}, [&](wire::AskForListeners::Builder ask) {
    ask.setRank(static_cast<std::uint32_t>(options_.rank));
  });
  options_.users.events->tell(events::Ready{current_});
  publish<events::Ready>();
  asked_for_ = loaded_ = current_ - 1;
  makes_up_ = owes_work();
  if (!makes_up_) return begin_steps();
  set_step(--current_);
  if (options_.rank == 0) log::info("first comes what the run before left undone after step {}", current_);
  arm_deadline();
  conclude_step();
}

void StepLoop::begin_steps() {
  current_ = first_step_;
  set_step(current_);
  if (!options_.before.ended.empty()) {
    if (options_.rank == 0)
      log::warn(
          "this run was ended after step {} and trains no further ({}). To train on, set "
          "trainer.checkpointing.resume_ended: true",
          current_ - 1, options_.before.ended);
  } else if (current_ > options_.total_steps) {
    log::info("the checkpoint is at step {} and the job has {}: nothing left to {}", current_ - 1,
              counted(options_.total_steps, "step"), kind_.verb);
  }
  go_on_after(current_ - 1);
}

// Asks for the batches of this step and of the steps that may be loaded ahead.
void StepLoop::ask_for_batches() {
  const std::uint64_t last = std::min(current_ + options_.prefetch_steps, options_.total_steps);
  if (last <= asked_for_) return;
  tell<wire::LoadBatches>({Role::loader, self().index}, [&](wire::LoadBatches::Builder load) {
    load.setStep(asked_for_ + 1);
    load.setCredits(static_cast<std::uint32_t>(last - asked_for_));
  });
  asked_for_ = last;
}

LoadedBatch StepLoop::batch_of(wire::BatchReady::Reader message) {
  return {.step = message.getStep(),
          .microbatches = to_vector<std::uint64_t>(message.getMicrobatches()),
          .tokens = message.getTokens(),
          .flops = message.getFlops(),
          .next_sample = message.getNextSample(),
          .stream_state = message.getStreamState().cStr(),
          .is_last = message.getIsLast()};
}

void StepLoop::batch_ready(wire::BatchReady::Reader message) {
  batches_.push_back(batch_of(message));
  loaded_ = message.getStep();
  advance();
  finish_when_done();
}

// The newest loaded batch is the last one that the data gives.
bool StepLoop::data_ends() const {
  return batches_.empty() ? computed_.is_last : batches_.back().is_last;
}

void StepLoop::data_ended(wire::DataEnded::Reader message) {
  // A signal stops the job before that step, or all ranks will agree to end with the step before.
  if (state_ == StepState::finishing || (data_ends() && sender().role == Role::loader)) {
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

void StepLoop::advance() {
  if (state_ != StepState::waiting || saves_.is_due() || begin_rollouts() || batches_.empty()) return;
  const LoadedBatch batch = std::move(batches_.front());
  batches_.pop_front();
  begin(batch);
}

void StepLoop::begin(const LoadedBatch& batch) {
  D9D_CHECK(batch.step == current_, "batch of step {} for step {}", batch.step, current_);
  set_step(current_);
  if (batch.is_last && current_ < options_.total_steps) requests_.end(stream_ended);
  publish<events::StepPre>();
  computed_ = batch;
  begin_update(0);
}

// The microbatches of a step come phase after phase, equally many of each.
void StepLoop::begin_update(int update) {
  state_.become(StepState::computing);
  update_ = update;
  publish<events::ForwardPre>();
  const std::size_t of_a_phase =
      computed_.microbatches.size() / static_cast<std::size_t>(options_.phases.size());
  const std::span<const std::uint64_t> microbatches =
      std::span(computed_.microbatches)
          .subspan(of_a_phase * static_cast<std::size_t>(options_.phases.begin_of(update)),
                   of_a_phase * static_cast<std::size_t>(options_.phases.end_of(update) -
                                                         options_.phases.begin_of(update)));
  tell<wire::BeginStep>({Role::rank_executor, self().index}, [&](wire::BeginStep::Builder begin) {
    begin.setStep(current_);
    fill_pass(begin.initPass(), {kind_.pass, static_cast<std::uint32_t>(update)});
    fill_list(begin.initMicrobatches(static_cast<unsigned>(microbatches.size())), microbatches);
  });
}

void StepLoop::step_computed(wire::StepComputed::Reader message) {
  const auto update = static_cast<int>(message.getPass().getNumber());
  D9D_CHECK(state_ == StepState::computing && message.getStep() == current_,
            "step {} was computed while step {} is {}", message.getStep(), current_, name_of(state_));
  D9D_CHECK(update == update_, "update {} of step {} was computed while update {} is in work", update,
            current_, update_);
  const bool counts_tokens = options_.counts_tokens && update_ == 0;
  state_.become(StepState::following);
  publish<events::ForwardPost>();
  totals_ = {.loss_sum = message.getLossSum(),
             .weight_sum = message.getWeightSum(),
             .norm_share = message.getNormShare(),
             .tokens = counts_tokens ? static_cast<double>(computed_.tokens) : 0,
             .flops = counts_tokens ? computed_.flops : 0,
             .costs = to_vector<double>(message.getCosts())};
  reduce_when_followed();
}

void StepLoop::reduce_when_followed() {
  if (state_ != StepState::following) return;
  if (!is_last_update()) {
    state_.become(StepState::reducing);
    return reduce_over_world(reductions_of(totals_));
  }
  if (!is_followed() || waits_for_trackers()) return;
  state_.become(StepState::reducing);
  pass_on_end();
  RankWishes wishes = take_wishes(signals_);
  requests_.add_to(wishes);
  reduce_over_world(reductions_of(totals_), &wishes);
}

void StepLoop::reduce_over_world(std::vector<StepReduction> reductions, const RankWishes* wishes) {
  if (wishes != nullptr) reductions.front().values = with_wishes(*wishes, reductions.front().values);
  for (const auto& [operation, values] : reductions) {
    tell<wire::ReduceValues>(options_.world_collective, [&](wire::ReduceValues::Builder reduce) {
      reduce.setOrder(reductions_++);
      reduce.setStep(current_);
      reduce.setOperation(reduce_operations.to_wire(operation));
      fill_list(reduce.initValues(static_cast<unsigned>(values.size())), values);
    });
  }
}

// Each piece of work between two steps returns here when it is done. The order is the same on all ranks.
void StepLoop::conclude_step() {
  state_.become(StepState::concluding);
  if (begin_work_after_step()) return;
  if (!std::exchange(makes_up_, false)) return end_step();
  keep_what_was_owed();
  saves_.take_asked();  // the resumed checkpoint is that of this step
  begin_steps();
}

void StepLoop::end_step() {
  const bool asked = saves_.take_asked();
  if (asked || options_.saves.due(current_))
    saves_.add({current_, computed_.next_sample, tokens_total_, skipped_updates(), computed_.stream_state});
  go_on_after(current_++);
}

void StepLoop::go_on_after(std::uint64_t done) {
  const bool goes_on = done < end_.step;
  state_.become(goes_on ? StepState::waiting : StepState::finishing);
  goes_on ? ask_for_batches() : cancel_rollouts();
  take_snapshot_when_due();
  if (std::exchange(sleep_.due, false) && goes_on) return fall_asleep(done);
  finish_when_done();
  advance();
  if (goes_on || applying_) arm_deadline();
}

void StepLoop::finish_when_done() {
  if (state_ != StepState::finishing || applying_ || saves_.is_saving() || !listened_to_.names) return;
  // finalize_task() waits, because a Loader may be calling the task on its own thread.
  if (is_loading()) return;
  state_.become(StepState::finished);
  current_ = end_.step;
  options_.users.finalize_task();
  tell_records();
  options_.users.events->tell(events::Finished{end_.step, end_.signal});
  if (end_.signal == 0) {
    publish<events::Finished>();
  } else {
    publish<events::Stopped>();
  }
  tell<wire::RankFinished>({Role::coordinator, 0}, [&](wire::RankFinished::Builder finished) {
    finished.setRank(options_.rank);
    finished.setStep(end_.step);
    finished.setSignal(static_cast<std::uint32_t>(end_.signal));
    const bool was_ended = end_.asked || !options_.before.ended.empty();
    if (was_ended && options_.rank == 0) finished.setEnded(requests_.why_it_ends());
  });
}

void StepLoop::arm_deadline(bool links_are_new) {
  const auto timeout =
      links_are_new || current_ <= first_step_ ? options_.deadlines.first_step : options_.deadlines.step;
  tell_self_after<wire::Tick>(timeout, [&](wire::Tick::Builder tick) {
    tick.setKind(step_deadline);
    tick.setValue(current_);
  });
}

void StepLoop::tick(wire::Tick::Reader message) {
  if (message.getKind() == checkpoint_deadline) return require_commit_of(message.getValue());
  if (message.getValue() != current_ || (state_ >= StepState::finishing && !applying_)) return;
  if (is_asleep(state_)) return;  // awake() sets a new deadline
  // A slow disk is not a hanging step.
  if (saves_.in_flight() || take_progress()) return arm_deadline();
  throw Error(
      ErrorKind::environment,
      fmt::format("rank {} did not finish step {} in time: it is {}. Raise trainer.timeout if the step is "
                  "really that slow",
                  options_.rank, applying_.value_or(current_),
                  applying_              ? "updating the parameters"
                  : waits_for_trackers() ? "waiting for its trackers (trainer.logging.max_pending_steps)"
                                         : name_of(state_)));
}

}  // namespace d9d
