// Serves the requests of actors between a step's update and its checkpoint: restore an earlier checkpoint,
// make texts with the model that trains, end the job, change the learning rate.
#include <algorithm>

#include "actors/notes/text_messages.hpp"
#include "actors/trainer.hpp"
#include "runtime/base/error.hpp"
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
  D9D_REQUIRE(!options_.infers, "{} asks for an earlier state, and an inference job has none",
              to_string(sender()));
  D9D_CHECK(options_.rank == 0, "rank {} was asked to go back; ask rank 0", options_.rank);
  requests_.roll_back(message.getBefore());
}

void Trainer::generate_texts(wire::GenerateTexts::Reader message) {
  D9D_REQUIRE(!options_.infers,
              "{} asks for texts of a model that trains; an inference job has the task generation",
              to_string(sender()));
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
  if (phase_ == Phase::generating && !generating_) make_texts();
}

void Trainer::end_job(wire::EndJob::Reader message) {
  D9D_CHECK(options_.rank == 0, "rank {} was asked to end the job; ask rank 0", options_.rank);
  const auto index = static_cast<std::size_t>(sender().index);
  const bool is_own = sender().role == Role::user && index < options_.actor_names.size();
  requests_.end(fmt::format("{}: {}", is_own ? options_.actor_names[index] : to_string(sender()),
                            message.getReason().cStr()));
}

void Trainer::scale_learning_rate(wire::ScaleLearningRate::Reader message) {
  D9D_REQUIRE(!options_.infers, "{} asks for another learning rate, and an inference job has none",
              to_string(sender()));
  D9D_CHECK(options_.rank == 0, "rank {} was asked for another learning rate; ask rank 0", options_.rank);
  requests_.scale_learning_rate(message.getFactor());
}

void Trainer::events_followed(wire::EventsFollowed::Reader message) {
  const auto known = actors_.deciding.find(sender());
  if (known == actors_.deciding.end()) return;
  known->second = std::max(known->second, message.getEvents());
  reduce_when_followed();
}

// Each piece of work that may follow an update returns here when it is done. The order is the
// same on all ranks.
void Trainer::conclude_step() {
  if (requests_.restore()) return restore();
  const bool goes_on = stop_signal_ == 0;
  if (evaluation_ && goes_on && evaluation_->due(current_)) return evaluate();
  if (requests_.texts_due() && goes_on) return make_texts();
  after_apply();
}

void Trainer::restore() {
  phase_ = Phase::restoring;
  const TakenCheckpoint to = *requests_.restore();
  if (options_.rank == 0) log::warn("going back from step {} to the state of step {}", current_, to.step);
  tell<wire::RestoreState>({Role::rank_executor, self().index}, [&](wire::RestoreState::Builder restore) {
    restore.setStep(current_);
    restore.setDirectory(options_.checkpoint_dir(to.step));
    restore.setSkippedSteps(to.skipped);
  });
}

// The undone steps count as skipped updates. A checkpoint follows, so that a later start does not resume
// from one that was written after the spike.
void Trainer::state_restored(wire::StateRestored::Reader message) {
  D9D_CHECK(phase_ == Phase::restoring && message.getStep() == current_,
            "the state was restored after step {}, in step {}", message.getStep(), current_);
  const TakenCheckpoint to = *requests_.restore();
  step_end_.set_skipped(to.skipped + current_ - to.step);
  requests_.restored(current_);
  save_asked_ = options_.saves;
  step_begin_ns_ = world().clock.now_ns();
  if (options_.rank == 0) {
    tell<wire::RecordValue>({Role::tracker, 0}, [&](wire::RecordValue::Builder value) {
      value.setStep(current_);
      value.setName("roll_backs");
      value.setNumber(static_cast<double>(requests_.roll_backs()));
    });
  }
  publish("train.rolled_back",
          fmt::format(R"({{"to":{},"roll_backs":{}}})", to.step, requests_.roll_backs()));
  conclude_step();
}

void Trainer::make_texts() {
  phase_ = Phase::generating;
  const RequestedTexts* const texts = requests_.next_texts();
  generating_ = texts != nullptr;
  if (!generating_) return;  // rank 0 has passed it on
  tell<wire::GenerateTexts>({Role::rank_executor, self().index},
                            [&](wire::GenerateTexts::Builder message) { fill(message, *texts, current_); });
}

void Trainer::texts_computed() {
  D9D_CHECK(phase_ == Phase::generating && generating_, "texts were made that nobody asked for");
  generating_ = false;
  requests_.texts_made();
  step_begin_ns_ = world().clock.now_ns();  // the next step's time does not count it
  conclude_step();
}

}  // namespace d9d
