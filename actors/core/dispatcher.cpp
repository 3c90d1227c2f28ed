#include "actors/core/dispatcher.hpp"

#include <kj/exception.h>

#include "actors/core/crash_report.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/log_place.hpp"
#include "runtime/base/shortened.hpp"

namespace d9d {

namespace {

std::string coordinates_of(const World& world, ActorId id) {
  const int rank = rank_of(id);
  return rank >= 0 && world.coordinates ? world.coordinates(rank) : std::string();
}

}  // namespace

Dispatcher::Dispatcher(World& world, Actor& actor, ActorId id)
    : world_(world),
      actor_(actor),
      id_(id),
      name_(to_string(id)),
      coordinates_(coordinates_of(world, id)),
      activity_(world.activities.enter(id)) {
  // A node learns its index only when it has joined, so its track has the name of the process.
  const std::string track = id.role == Role::node ? "node" : name_;
  if (world_.recorder != nullptr) track_ = world_.recorder->actor(track, rank_of(id));
  handlers_.on_any_epoch(this, &Dispatcher::stop);
  if (id.role == Role::user) handlers_.on(this, &Dispatcher::flush_events);
  actor_.behavior(handlers_);
}

void Dispatcher::stop(wire::Stop::Reader /*message*/) {
  actor_.stop();
}

// Answers for users' actors, so that they need no handler for it.
void Dispatcher::flush_events(wire::FlushEvents::Reader /*message*/) {
  actor_.tell<wire::EventsHeard>({Role::coordinator, 0}, [&](wire::EventsHeard::Builder heard) {
    heard.setActor(static_cast<std::uint32_t>(id_.index));
  });
}

std::optional<Frame> Dispatcher::start() {
  current_message_ = "(start)";
  prepare_thread_for_crashes();
  return translate_errors([&] {
    const log::Place place(name_);
    const log::StepOfPlace step(actor_.step_, coordinates_);
    const Actor::Work work(actor_, {.actor = track_, .name = actor_.trace_name("start")});
    const Doing doing(activity_, "its start", world_.clock.now_ns());
    actor_.started();
    // Sent for users' actors, so that they need not send it.
    if (id_.role == Role::user) actor_.tell<wire::Ready>(actor_.parent());
  });
}

std::optional<Frame> Dispatcher::dispatch(const Frame& frame, const MailboxPtr& attached) {
  return translate_errors([&] {
    try {
      handle(frame, attached);
    } catch (const Refused& refusal) {
      refuse(refusal);
    } catch (const kj::Exception& error) {
      // Readers check lazily: a hostile pointer throws when its field is read.
      refuse(Refused(Refused::Reason::malformed, error.getDescription().cStr()));
    }
  });
}

void Dispatcher::handle(const Frame& frame, const MailboxPtr& attached) {
  current_message_ = "(unreadable)";
  const Decoded decoded(frame, world_.limits);
  Actor::Incoming incoming{decoded.header(), attached, nullptr, frame.connection()};
  const ActorId receiver = incoming.header.receiver;
  if (actor_.index_of(receiver) < 0) return pass_on(frame, incoming.header, attached);
  const Handlers::Entry* entry = handlers_.find(decoded.type());
  if (entry == nullptr) {
    throw Refused(Refused::Reason::unknown_type, name_ + " does not hear message type " +
                                                     std::to_string(decoded.type()) + " from " +
                                                     to_string(incoming.header.sender));
  }
  current_message_ = entry->name;
  check(incoming, *entry);
  trace::ScopedSpan span(world_.recorder, world_.clock, span_of(frame, incoming.header, entry->name));
  const log::Place place(name_);
  const log::StepOfPlace step(actor_.step_, coordinates_);
  const Doing doing(activity_, entry->lasting_name, world_.clock.now_ns());
  actor_.active_span_ = &span;
  actor_.set_incoming(&incoming);
  // The message's step. If it names none, the step of the actor after the handler.
  struct Leave {
    Actor& actor;
    trace::ScopedSpan& span;
    std::uint64_t step;
    ~Leave() {
      span.span().step = trace::step_of_span(step > 0 ? step : actor.step_);
      actor.active_span_ = nullptr;
      actor.set_incoming(nullptr);
    }
  } leave{actor_, span, entry->step != nullptr ? entry->step(decoded) : 0};
  entry->call(decoded);
}

trace::Span Dispatcher::span_of(const Frame& frame, const Header& header, const std::string& name) {
  trace::Span span{.bytes = frame.size_bytes(), .actor = track_, .name = actor_.trace_name(name)};
  if (header.sender == id_) return span;  // a timer: its wait is no time in a mailbox
  span.flow_in = header.flow;
  span.sent_elsewhere = frame.arrived_ns() != 0 && header.flow != 0;
  span.enqueue_ns = span.sent_elsewhere || frame.arrived_ns() == 0 ? header.send_time_ns : frame.arrived_ns();
  return span;
}

void Dispatcher::pass_on(const Frame& frame, const Header& header, const MailboxPtr& attached) {
  const MailboxPtr mailbox = world_.book.find_local(header.receiver);
  if (mailbox != nullptr) {
    mailbox->deliver(frame, attached);
  } else {
    note_undelivered(world_, fmt::format("{} got a message from {} for {}, which does not live here", name_,
                                         to_string(header.sender), to_string(header.receiver)));
  }
}

void Dispatcher::check(const Actor::Incoming& incoming, const Handlers::Entry& entry) {
  const Header& header = incoming.header;
  const std::uint32_t epoch = world_.epoch.load(std::memory_order_relaxed);
  if (!entry.any_epoch && header.epoch != epoch) {
    throw Refused(Refused::Reason::wrong_epoch, entry.name + " of epoch " + std::to_string(header.epoch) +
                                                    " in epoch " + std::to_string(epoch));
  }
  if (entry.any_epoch) return;       // forms an epoch, so it may carry another number
  if (header.sender == id_) return;  // timers to itself come due in another order than they were set
  if (std::exchange(sequences_of_, epoch) != epoch) last_sequence_.clear();
  const auto address = static_cast<std::size_t>(actor_.index_of(header.receiver));
  if (address >= last_sequence_.size()) last_sequence_.resize(address + 1);
  std::uint64_t& last = last_sequence_[address][{incoming.connection, header.sender.packed()}];
  if (header.sequence <= last) {
    throw Refused(Refused::Reason::repeated, entry.name + " number " + std::to_string(header.sequence) +
                                                 " from " + to_string(header.sender) + " came again or late");
  }
  last = header.sequence;
}

void Dispatcher::refuse(const Refused& refusal) {
  world_.refused.fetch_add(1);
  if (refused_++ == 0) {
    log::warn("{} refused a message ({}): {} (further ones are only counted)", name_,
              name_of(refusal.reason()), refusal.what());
  }
}

template <class Body>
std::optional<Frame> Dispatcher::translate_errors(Body&& body) {
  try {
    body();
    return std::nullopt;
  } catch (...) {
    Caught caught = describe_current_exception();
    // An exception of a user's code is not reported as a bug of d9d.
    if (id_.role == Role::user) {
      if (caught.kind == ErrorKind::bug) caught.kind = ErrorKind::environment;
      caught.what = fmt::format("{} threw: {}", world_.activities.name_of(id_), shortened(caught.what));
    }
    return actor_.make_failure(caught.what, caught.kind, current_message_);
  }
}

}  // namespace d9d
