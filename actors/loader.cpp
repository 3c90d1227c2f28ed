#include "actors/loader.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

Loader::Loader(World& world, std::function<std::unique_ptr<BatchFeed>()> make_feed)
    : Actor(world), make_feed_(std::move(make_feed)) {}

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
  if (next_step_ == 0) next_step_ = message.getStep();
  for (std::uint32_t credit = 0; credit < message.getCredits(); ++credit) {
    set_step(next_step_);
    const auto batch = feed_->load(next_step_);
    if (!batch) {
      tell<wire::DataEnded>(sender(), [&](wire::DataEnded::Builder ended) { ended.setStep(next_step_); });
      return;
    }
    tell<wire::BatchReady>(sender(), [&](wire::BatchReady::Builder ready) {
      ready.setStep(next_step_);
      ready.setTicket(batch->ticket.packed());
      ready.setMicrobatches(batch->microbatches);
      ready.setNextSample(batch->next_sample);
    });
    ++next_step_;
  }
}

}  // namespace d9d
