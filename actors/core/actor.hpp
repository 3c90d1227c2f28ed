#pragma once
// The base of every actor. Its state is private, its handlers run one at a time on the actor's thread, and
// it reaches others only by tell(). ActorHost hides whether a thread, a pool or a simulator runs it.
//
// Lifecycle: constructed -> started() -> handlers ... -> finish() or a handler throws. After a throw
// the parent gets wire::Failed, and the actor is gone.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/core/handlers.hpp"
#include "actors/core/world.hpp"
#include "messages/encode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/trace/record/scoped_span.hpp"

namespace d9d {

class Actor;
using ActorFactory = std::function<std::unique_ptr<Actor>(World&)>;

// Makes T(world, options) on the thread of the actor.
template <class T, class Options>
ActorFactory factory_of(Options options) {
  return [options = std::move(options)](auto& world) mutable {
    return std::make_unique<T>(world, std::move(options));
  };
}

enum class Threading {
  pool,        // never blocks
  own_thread,  // computes, or waits for a device, a collective or a disk
};

// The requests that an actor may make of the thing that runs it. Called on the actor's thread only.
class ActorHost {
 public:
  virtual ~ActorHost() = default;
  virtual MailboxPtr mailbox() = 0;
  virtual void spawn(ActorId id, Threading threading, ActorFactory factory, ActorId parent) = 0;
  virtual void deliver_after(std::chrono::nanoseconds delay, Frame frame) = 0;
  // Sends wire::PeerDown to this actor when the process of `mailbox` is gone.
  virtual void watch(const MailboxPtr& mailbox, int node) = 0;
  // Opens a port for this actor on a numeric address. Port 0: the system chooses one. Returns the port.
  // Environment error when the port is taken.
  virtual std::uint16_t publish(const std::string& address, std::uint16_t port) = 0;
  // Connects to another process without blocking the caller. The answer is wire::Dialed, with the mailbox
  // of the other process attached.
  virtual void dial(std::string host, std::uint16_t port, int node) = 0;
  virtual void finish() = 0;
};

class Actor {
 public:
  explicit Actor(World& world) : world_(world) {}
  virtual ~Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  // Lists what this actor hears. Called once.
  virtual void behavior(Handlers& handlers) = 0;
  // Called first, on the actor's own thread.
  virtual void started() {}
  // Called when wire::Stop has come: complete the work that was begun, then call finish().
  virtual void stop() { finish(); }

  // For the host and the dispatcher only.
  void attach(ActorHost* host, ActorId self, ActorId parent);
  struct Incoming {
    Header header;
    MailboxPtr attached;
    trace::ScopedSpan* span = nullptr;
    std::uint64_t connection = 0;
  };
  void set_incoming(Incoming* incoming) { incoming_ = incoming; }
  Frame make_failure(const std::string& text, ErrorKind kind, const std::string& message);

 protected:
  World& world() { return world_; }
  ActorHost& host() { return *host_; }
  ActorId self() const { return self_; }
  ActorId parent() const { return parent_; }
  // Adds an id under which this actor gets messages. A node needs it, because it learns its index
  // only when it joins.
  void answer_to(ActorId id);
  ActorId sender() const { return incoming_ ? incoming_->header.sender : ActorId{}; }
  const MailboxPtr& attached() const;
  // The connection that brought the message into this process; 0: the sender is in this process.
  std::uint64_t connection() const { return incoming_ ? incoming_->connection : 0; }

  template <class T, class Fill>
  void tell(ActorId to, Fill&& fill, const MailboxPtr& attach = nullptr) {
    send(to, encode<T>(next_header(to), std::forward<Fill>(fill)), attach);
  }
  template <class T>
  void tell(ActorId to) {
    tell<T>(to, [](typename T::Builder) {});
  }
  // Sends to an actor that is not in the address book yet.
  template <class T, class Fill>
  void tell_via(const MailboxPtr& mailbox, ActorId to, Fill&& fill, const MailboxPtr& attach = nullptr) {
    mailbox->deliver(encode<T>(next_header(to), std::forward<Fill>(fill)), attach);
  }
  template <class T, class Fill>
  void tell_self_after(std::chrono::nanoseconds delay, Fill&& fill) {
    Header header = next_header(self_);
    header.flow = 0;  // no arrow in a trace: the timer was not waiting for anybody
    host_->deliver_after(delay, encode<T>(header, std::forward<Fill>(fill)));
  }
  void spawn(ActorId id, Threading threading, ActorFactory factory);
  void finish() { host_->finish(); }

  // Rank and step for failures, logs and traces.
  void set_rank(int rank) { rank_ = rank; }
  void set_step(std::uint64_t step) { step_ = step; }
  std::uint64_t step() const { return step_; }

  // A span of work inside a handler (an action, a collective, a file), on the track that `span` names.
  // Messages that the actor sends during it have their arrows start at this span.
  class Work {
   public:
    Work(Actor& actor, const trace::Span& span);
    ~Work();
    trace::Span& span() { return span_.span(); }

   private:
    Actor& actor_;
    trace::ScopedSpan span_;
    trace::ScopedSpan* before_;
  };
  std::uint32_t trace_name(std::string_view text) { return names_(text); }
  // The value of Span::step for work in the actor's step.
  std::int32_t traced_step() const { return trace::step_of_span(step_); }

 private:
  friend class Dispatcher;
  // The index of `id` among the actor's ids: 0 its own, 1 and up those of answer_to(), -1 none of them.
  int index_of(ActorId id) const;
  Header next_header(ActorId to);
  void send(ActorId to, Frame frame, const MailboxPtr& attach);

  World& world_;
  ActorHost* host_ = nullptr;
  ActorId self_;
  ActorId parent_;
  std::vector<ActorId> aliases_;
  int rank_ = -1;
  std::uint64_t step_ = 0;
  Incoming* incoming_ = nullptr;
  trace::ScopedSpan* active_span_ = nullptr;
  trace::NameCache names_{world_.recorder};
  std::unordered_map<std::uint64_t, std::uint64_t> sequences_;  // last number in this epoch, by receiver
  std::uint32_t sequences_of_ = 0;                              // the epoch
};

}  // namespace d9d
