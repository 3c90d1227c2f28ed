#include "actors/loader.hpp"

#include <algorithm>

#include "actors/notes/text_messages.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

Loader::Loader(World& world, MakeFeed make_feed) : Actor(world), make_feed_(std::move(make_feed)) {}

void Loader::behavior(Handlers& handlers) {
  handlers.on(this, &Loader::load_batches);
  handlers.on(this, &Loader::rollouts_written);
}

void Loader::started() {
  set_rank(rank_of(self()));
  const std::int64_t begin = world().clock.now_ns();
  feed_ = make_feed_();
  tell<wire::Ready>(parent(), [&](wire::Ready::Builder ready) {
    ready.setRank(rank_of(self()));
    ready.setSeconds(1e-9 * static_cast<double>(world().clock.now_ns() - begin));
  });
}

void Loader::load_batches(wire::LoadBatches::Reader message) {
  D9D_CHECK(next_step_ == 0 || message.getStep() == next_step_ + credits_,
            "batches from step {} on are asked for, the next one is of step {}", message.getStep(),
            next_step_ + credits_);
  trainer_ = sender();
  if (next_step_ == 0) next_step_ = first_step_ = message.getStep();
  credits_ += message.getCredits();
  advance();
}

void Loader::rollouts_written(wire::RolloutsWritten::Reader message) {
  cancelled_ = cancelled_ || message.getCancelled();
  if (!message.getCancelled()) {
    RolloutNeeds* const needs = feed_->rollouts();
    D9D_CHECK(needs != nullptr && message.getStep() == needs->written() + 1,
              "the texts of step {} came, and nobody waits for them", message.getStep());
    if (auto texts = joined(texts_, message)) needs->write(*std::move(texts));
  }
  advance();
}

void Loader::advance() {
  while (credits_ > 0) {
    set_step(next_step_);
    if (cancelled_) return tell_end();
    RolloutNeeds* const needs = feed_->rollouts();
    if (!(needs ? load_next(*needs) : load_next())) return;
  }
}

bool Loader::load_next() {
  const auto inputs = feed_->load(next_step_);
  if (inputs) {
    tell_batch(*inputs);
  } else {
    tell_end();
  }
  return inputs.has_value();
}

// A step begins when its batch is there. So the batch waits until the weights that the step will change have written
// what they have to, which is also what the checkpoint after the step keeps.
bool Loader::load_next(RolloutNeeds& needs) {
  while (needs.asked() < next_step_ + needs.lag()) ask_for_texts(needs);
  if (!made_) {
    if (needs.written() < next_step_) return false;
    made_ = feed_->load(next_step_);
    D9D_CHECK(made_, "the texts of step {} are here, and it has no batch", next_step_);
  }
  if (needs.written() < next_step_ + needs.lag()) return false;
  made_->stream_state = needs.stream_state();
  tell_batch(*made_);
  made_.reset();
  return true;
}

void Loader::ask_for_texts(RolloutNeeds& needs) {
  const TextRequest request = needs.ask();
  const std::uint64_t step = needs.asked();
  in_parts(request, [&](auto prompts, bool more) {
    tell<wire::WriteRollouts>(trainer_, [&](wire::WriteRollouts::Builder write) {
      fill_rollouts(write, request, prompts);
      write.setStep(step);
      write.setAfter(std::max(first_step_, step - std::min(step, needs.lag())) - 1);
      write.setMore(more);
    });
  });
}

void Loader::tell_batch(const StepInputs& inputs) {
  tell<wire::BatchReady>(trainer_, [&](wire::BatchReady::Builder ready) {
    ready.setStep(next_step_);
    auto tickets = ready.initMicrobatches(static_cast<unsigned>(inputs.microbatches.size()));
    for (unsigned i = 0; i < tickets.size(); ++i) tickets.set(i, inputs.microbatches[i].packed());
    ready.setTokens(inputs.tokens);
    ready.setFlops(inputs.flops);
    ready.setNextSample(inputs.next_sample);
    ready.setStreamState(inputs.stream_state);
    ready.setIsLast(inputs.is_last);
  });
  ++next_step_;
  --credits_;
}

// What was asked for beyond the end is dropped.
void Loader::tell_end() {
  credits_ = 0;
  tell<wire::DataEnded>(trainer_, [&](wire::DataEnded::Builder ended) { ended.setStep(next_step_); });
}

}  // namespace d9d
