#include "actors/core/actor.hpp"

#include <algorithm>

#include "actors/core/failure_kind.hpp"

namespace d9d {

void Actor::attach(ActorHost* host, ActorId self, ActorId parent) {
  host_ = host;
  self_ = self;
  parent_ = parent;
}

void Actor::answer_to(ActorId id) {
  // The actor must know the id before others can send to it: otherwise it would pass such a frame on
  // to itself for ever.
  if (index_of(id) < 0) aliases_.push_back(id);
  world_.book.enter(id, host_->mailbox());
}

int Actor::index_of(ActorId id) const {
  if (id == self_) return 0;
  const auto alias = std::find(aliases_.begin(), aliases_.end(), id);
  return alias == aliases_.end() ? -1 : static_cast<int>(alias - aliases_.begin()) + 1;
}

const MailboxPtr& Actor::attached() const {
  static const MailboxPtr none;
  return incoming_ ? incoming_->attached : none;
}

void Actor::spawn(ActorId id, Threading threading, ActorFactory factory) {
  host_->spawn(id, threading, std::move(factory), self_);
}

Header Actor::next_header(ActorId to) {
  const std::uint32_t epoch = world_.epoch.load(std::memory_order_relaxed);
  // In a new epoch every receiver counts from 1 again.
  if (std::exchange(sequences_of_, epoch) != epoch) sequences_.clear();
  return {.epoch = epoch,
          .sender = self_,
          .receiver = to,
          .sequence = ++sequences_[to.packed()],
          .send_time_ns = world_.clock.now_ns(),
          // A timer draws no arrow; asking for a flow id would give the span one.
          .flow = active_span_ && to != self_ ? active_span_->flow() : 0};
}

void Actor::send(ActorId to, Frame frame, const MailboxPtr& attach) {
  D9D_CHECK(frame.size_bytes() <= world_.limits.bytes_max, "a message of {} bytes to {}: the limit is {}",
            frame.size_bytes(), to_string(to), world_.limits.bytes_max);
  if (const MailboxPtr mailbox = world_.book.find(to)) {
    mailbox->deliver(std::move(frame), attach);
    return;
  }
  note_undelivered(world_, fmt::format("no one knows {}; a message to it was dropped", to_string(to)));
}

Frame Actor::make_failure(const std::string& text, ErrorKind kind, const std::string& message) {
  return encode<wire::Failed>(next_header(parent_), [&](wire::Failed::Builder failed) {
    failed.setKind(failure_kinds.to_wire(kind));
    failed.setText(text);
    failed.setActor(to_string(self_));
    failed.setRank(rank_);
    failed.setStep(step_);
    failed.setMessage(message);
  });
}

Actor::Work::Work(Actor& actor, const trace::Span& span)
    : actor_(actor), span_(actor.world_.recorder, actor.world_.clock, span), before_(actor.active_span_) {
  actor_.active_span_ = &span_;
}

Actor::Work::~Work() {
  actor_.active_span_ = before_;
}

}  // namespace d9d
