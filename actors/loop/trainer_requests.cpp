// Serves the requests of actors between a step's update and its checkpoint: restore an earlier checkpoint,
// make texts with the model that trains, end the job, change the learning rate. And those of the Loader before a step
// begins: rollouts.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/loop/trainer.hpp"
#include "actors/notes/recorded_value.hpp"
#include "actors/notes/text_messages.hpp"
#include "messages/lists.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"

namespace d9d {
namespace {

void fill(wire::GenerateTexts::Builder message, const RequestedTexts& texts, std::uint64_t step) {
  fill_request(message, texts.request);
  message.setAsker(texts.asker.packed());
  message.setNumber(texts.number);
  message.setStep(step);
}

}  // namespace

void Trainer::roll_back(wire::RollBack::Reader message) {
  D9D_CHECK(options_.rank == 0, "rank {} was asked to go back; ask rank 0", options_.rank);
  requests_.roll_back(message.getBefore());
}

void Trainer::generate_texts(wire::GenerateTexts::Reader message) {
  RequestedTexts texts{.number = message.getNumber(),
                       .asker = ActorId::from_packed(message.getAsker()),
                       .request = text_request_of(message)};
  if (texts.number == 0) {
    texts.number = requests_.next_number();
    texts.asker = sender();
    for (int rank = 1; rank < options_.world_size; ++rank) {
      tell<wire::GenerateTexts>({Role::trainer, static_cast<std::uint64_t>(rank)},
                                [&](wire::GenerateTexts::Builder passed) { fill(passed, texts, current_); });
    }
  }
  requests_.add(std::move(texts));
  if (state_ == StepState::expecting_texts) make_texts();
}

void Trainer::scale_learning_rate(wire::ScaleLearningRate::Reader message) {
  D9D_CHECK(options_.rank == 0, "rank {} was asked for another learning rate; ask rank 0", options_.rank);
  requests_.scale_learning_rate(message.getFactor());
}

// The order is the same on all ranks. What a signal leaves out is kept in the checkpoint that it asks for, and the next
// start makes it.
bool Trainer::begin_work_after_step() {
  const bool goes_on = end_.signal == 0;
  if (requests_.restore()) {
    restore();
  } else if (goes_on && evaluation_is_due()) {
    evaluate();
  } else if (requests_.texts_due() && goes_on) {
    make_texts();
  } else {
    if (!goes_on && options_.rank == 0) say_what_is_left();
    return false;
  }
  return true;
}

// Before the first step only an evaluation that the run before owes.
bool Trainer::may_evaluate() const {
  return evaluation_ && (!makes_up_ || training_.owed.evaluation);
}

bool Trainer::evaluation_is_due() const {
  return may_evaluate() && evaluation_->due(current_);
}

void Trainer::say_what_is_left() const {
  const bool evaluation = may_evaluate() && evaluation_->owed(current_);
  if (!evaluation && !requests_.texts_due()) return;
  log::warn("the signal came before the end of {} after step {}: {}",
            evaluation ? "the evaluation" : "the texts", current_,
            options_.saves.on
                ? "the next start makes up for it"
                : "it is lost, because checkpointing is off (trainer.checkpointing.period_steps)");
}

bool Trainer::owes_work() const {
  const bool evaluation = training_.owed.evaluation && evaluation_ && evaluation_->due(*options_.before.step);
  return evaluation || requests_.texts_due();
}

// The rest of the checkpoint is as it was, so only what rank 0 keeps is written anew.
void Trainer::keep_what_was_owed() {
  if (options_.rank != 0) return;
  nlohmann::json state = nlohmann::json::object();
  const bool evaluated = training_.owed.evaluation && evaluation_ && evaluation_->made(current_);
  if (evaluated) {
    state["owed"]["evaluation"] = nullptr;
    if (const auto loss = evaluation_->loss_after(current_)) state["evaluation_loss"] = *loss;
    if (const auto& stopping = training_.evaluation->stopping) state["early_stopping"] = stopping->state();
    if (end_.asked) state["ended"] = requests_.why_it_ends();
    add_metric(state, metric_after(current_));
  }
  const OwedWork& owed = training_.owed;
  if (owed.texts_due > 0 && !requests_.texts_due()) {
    const auto served = static_cast<std::ptrdiff_t>(owed.texts_due);
    const OwedWork rest{.texts = {owed.texts.begin() + served, owed.texts.end()}};
    state["owed"]["texts"] = to_json(rest, options_.users.actor_names).value("texts", nlohmann::json());
  }
  if (state.empty()) return;
  tell<wire::CheckpointState>({Role::coordinator, 0}, [&](wire::CheckpointState::Builder amended) {
    amended.setStep(current_);
    amended.setRank(0);
    amended.setState(json_text(state));
    amended.setAmends(true);
  });
}

void Trainer::restore() {
  state_.become(StepState::restoring);
  const TakenCheckpoint to = *requests_.restore();
  if (options_.rank == 0) log::warn("going back from step {} to the state of step {}", current_, to.step);
  tell<wire::RestoreState>({Role::rank_executor, self().index}, [&](wire::RestoreState::Builder restore) {
    restore.setStep(current_);
    restore.setDirectory(training_.checkpoint_dir(to.step));
    fill_list(restore.initSkipped(static_cast<unsigned>(to.skipped.size())), to.skipped);
  });
}

// The undone steps count as skipped updates. A checkpoint follows, so that a later start does not resume
// from one that was written after the spike.
void Trainer::state_restored(wire::StateRestored::Reader message) {
  D9D_CHECK(state_ == StepState::restoring && message.getStep() == current_,
            "the state was restored after step {}, in step {}", message.getStep(), current_);
  const TakenCheckpoint to = *requests_.restore();
  std::vector<std::uint64_t> skipped = to.skipped;
  for (std::uint64_t& count : skipped) count += current_ - to.step;
  step_end_.set_skipped(std::move(skipped));
  requests_.restored(current_);
  saves_.ask();
  step_begin_ns_ = world().clock.now_ns();
  if (options_.rank == 0) {
    tell<wire::RecordValue>({Role::tracker, 0}, [&](wire::RecordValue::Builder value) {
      fill(value, {current_, "roll_backs", static_cast<double>(requests_.roll_backs())});
    });
  }
  publish<events::RolledBack>(fmt::format(R"({{"to":{},"roll_backs":{}}})", to.step, requests_.roll_backs()));
  conclude_step();
}

void Trainer::make_texts() {
  const RequestedTexts* const texts = requests_.next_texts();
  state_.become(texts ? StepState::making_texts : StepState::expecting_texts);
  if (!texts) return;
  tell<wire::GenerateTexts>({Role::rank_executor, self().index},
                            [&](wire::GenerateTexts::Builder message) { fill(message, *texts, current_); });
}

void Trainer::texts_computed() {
  D9D_CHECK(state_ == StepState::making_texts, "texts were made that nobody asked for");
  requests_.texts_made();
  step_begin_ns_ = world().clock.now_ns();  // the next step's time does not count it
  conclude_step();
}

void Trainer::write_rollouts(wire::WriteRollouts::Reader message) {
  D9D_CHECK(message.getAfter() + 1 >= current_, "rollouts after step {} are asked for in step {}",
            message.getAfter(), current_);
  auto request = joined(rollouts_part_, message);
  if (!request) return;
  rollouts_.push_back({message.getStep(), message.getAfter(), *std::move(request)});
  state_ >= StepState::finishing ? cancel_rollouts() : advance();
}

// All ranks get here after the same step with the same requests, because no batch of a later step comes before.
bool Trainer::begin_rollouts() {
  if (rollouts_.empty() || rollouts_.front().after + 1 != current_) return false;
  state_.become(StepState::writing_rollouts);
  const WantedRollouts& wanted = rollouts_.front();
  in_parts(wanted.request, [&](auto prompts, bool more) {
    tell<wire::WriteRollouts>({Role::rank_executor, self().index}, [&](wire::WriteRollouts::Builder write) {
      fill_rollouts(write, wanted.request, prompts);
      write.setStep(wanted.step);
      write.setAfter(wanted.after);
      write.setMore(more);
    });
  });
  return true;
}

void Trainer::rollouts_computed() {
  D9D_CHECK(state_ == StepState::writing_rollouts, "rollouts were written that nobody asked for");
  rollouts_.pop_front();
  rollouts_progress_ = true;
  state_.become(StepState::waiting);
  advance();
}

void Trainer::cancel_rollouts() {
  if (rollouts_.empty()) return;
  const std::uint64_t step = rollouts_.front().step;
  rollouts_.clear();
  tell<wire::RolloutsWritten>({Role::loader, self().index}, [&](wire::RolloutsWritten::Builder cancelled) {
    cancelled.setStep(step);
    cancelled.setCancelled(true);
  });
}

}  // namespace d9d
