#pragma once
// Finds causes in a recording: the sender of a message, the message that an actor handled before,
// the work that belongs to an actor, and the ranks that met in a collective.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

class Causes {
 public:
  // `recording` must outlive it.
  explicit Causes(const Recording& recording);

  // Returns the last message that `actor` began to handle before `ns`; null if none is recorded.
  const Span* handled_before(std::uint32_t actor, std::int64_t ns) const;
  // Returns the message that the same actor handled before `span`.
  const Span* previous(const Span& span) const;
  // Returns the span that sent the message which `span` handles. Null: a timer, or the
  // sender is not recorded.
  const Span* sender(const Span& span) const;
  // Returns the work (compute, collectives, disk, stalls, launches, waits for a device) inside
  // the handler, by start.
  std::vector<const Span*> work_in(const Span& handler) const;
  // Returns the actor whose handlers a span belongs to: its own, or that of the thread which did
  // the work. Nothing: the thread belongs to no actor.
  std::optional<std::uint32_t> owner(const Span& span) const;
  // The actor that computes on a rank.
  std::optional<std::uint32_t> computing_actor(int rank) const;
  // Returns the span of the rank that came last to the collective of `span`, if another rank came
  // later than this one. For a stall: of the collective that ended it.
  const Span* latest_peer(const Span& span) const;

 private:
  void find_owners();
  bool is_inside(const Span& work, std::uint32_t actor) const;
  const Span* collective_behind(const Span& stall) const;

  const Recording& recording_;
  std::vector<std::vector<const Span*>> handled_;        // by actor, by start
  std::vector<std::vector<const Span*>> work_of_track_;  // by track, by start
  std::vector<std::vector<const Span*>> work_of_owner_;  // by actor, by start
  std::vector<std::optional<std::uint32_t>> owners_;     // by track
  std::unordered_map<std::uint64_t, const Span*> senders_;
  std::unordered_map<std::uint32_t, std::vector<const Span*>> collectives_;  // by name, by start
};

}  // namespace d9d::trace
