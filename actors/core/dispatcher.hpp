#pragma once
// Does the work around every handler: checks the frame, records a trace span, translates errors. The same
// for every host; knows no CAF.

#include <optional>
#include <string>
#include <unordered_map>

#include "actors/core/actor.hpp"
#include "messages/event.capnp.h"

namespace d9d {

class Dispatcher {
 public:
  // `actor` outlives the dispatcher.
  Dispatcher(World& world, Actor& actor, ActorId id);

  // Runs started(). Returns a failure for the parent if it threw.
  std::optional<Frame> start();
  // Runs the handler of `frame`. Counts and drops bad frames, and passes on a frame for another actor of
  // this process. Returns a failure for the parent if the handler threw.
  std::optional<Frame> dispatch(const Frame& frame, const MailboxPtr& attached);

  std::uint64_t refused() const { return refused_; }
  // Lives as long as the World.
  Activity& activity() { return activity_; }

 private:
  void stop(wire::Stop::Reader message);
  void flush_events(wire::FlushEvents::Reader message);
  void handle(const Frame& frame, const MailboxPtr& attached);
  void pass_on(const Frame& frame, const Header& header, const MailboxPtr& attached);
  void check(const Actor::Incoming& incoming, const Handlers::Entry& entry);
  trace::Span span_of(const Frame& frame, const Header& header, const std::string& name);
  void refuse(const Refused& refusal);
  template <class Body>
  std::optional<Frame> translate_errors(Body&& body);

  World& world_;
  Actor& actor_;
  const ActorId id_;
  const std::string name_;
  const std::string coordinates_;  // on the mesh, for logs; empty: of no rank
  Activity& activity_;
  std::uint32_t track_ = 0;
  Handlers handlers_;
  std::string current_message_;
  std::uint64_t refused_ = 0;
  // Sequence numbers are counted per connection and sender, so a stranger that uses the name of a sender on
  // another connection uses up none of its numbers.
  struct Speaker {
    std::uint64_t connection, sender;
    bool operator==(const Speaker&) const = default;
  };
  struct HashOfSpeaker {
    std::size_t operator()(const Speaker& speaker) const {
      return std::hash<std::uint64_t>()(speaker.sender ^ speaker.connection << 24);
    }
  };
  // The last number in this epoch, by the index of the address and by speaker: senders count
  // per epoch and address.
  std::vector<std::unordered_map<Speaker, std::uint64_t, HashOfSpeaker>> last_sequence_;
  std::uint32_t sequences_of_ = 0;  // the epoch
};

}  // namespace d9d
