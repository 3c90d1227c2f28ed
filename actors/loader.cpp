#include "actors/loader.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

Loader::Loader(World& world, MakeFeed make_feed) : Actor(world), make_feed_(std::move(make_feed)) {}

void Loader::behavior(Handlers& handlers) {
  handlers.on(this, &Loader::load_batches);
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
  D9D_CHECK(next_step_ == 0 || message.getStep() == next_step_,
            "batches from step {} on are asked for, the next one is of step {}", message.getStep(),
            next_step_);
  next_step_ = message.getStep();
  for (std::uint32_t credit = 0; credit < message.getCredits(); ++credit) {
    if (!load_next()) return;
  }
}

bool Loader::load_next() {
  set_step(next_step_);
  const auto inputs = feed_->load(next_step_);
  if (!inputs) {
    tell<wire::DataEnded>(sender(), [&](wire::DataEnded::Builder ended) { ended.setStep(next_step_); });
    return false;
  }
  tell<wire::BatchReady>(sender(), [&](wire::BatchReady::Builder ready) {
    ready.setStep(next_step_);
    auto tickets = ready.initMicrobatches(static_cast<unsigned>(inputs->microbatches.size()));
    for (unsigned i = 0; i < tickets.size(); ++i) tickets.set(i, inputs->microbatches[i].packed());
    ready.setTokens(inputs->tokens);
    ready.setFlops(inputs->flops);
    ready.setNextSample(inputs->next_sample);
    ready.setStreamState(inputs->stream_state);
    ready.setIsLast(inputs->is_last);
  });
  ++next_step_;
  return true;
}

}  // namespace d9d
