#pragma once
// Walks back from the end of a step, from each piece of work to what it had to wait
// for (critical_path.hpp): on hosts over handlers and messages, on devices over the
// work of their streams.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/why/causes.hpp"
#include "runtime/trace/why/critical_path.hpp"
#include "runtime/trace/why/device_work.hpp"

namespace d9d::trace {

class PathWalk {
 public:
  // A point of the walk: at `ns`, `actor` ended some work or received a message.
  struct Place {
    std::uint32_t actor;
    std::int64_t ns;
  };

  // The arguments must outlive it.
  PathWalk(const Recording& recording, const Causes& causes, const DeviceWork& devices, std::int64_t start_ns)
      : recording_(recording), causes_(causes), devices_(devices), start_ns_(start_ns) {}

  // Returns the parts, the last one first.
  std::vector<PathPart> back_from(Place place);

 private:
  using Cause = std::optional<Place>;
  std::int64_t at() const { return parts_.empty() ? start_ns_ : parts_.back().start_ns; }
  std::string text(const Span& span) const { return recording_.names.at(span.name); }
  int rank_of(std::uint32_t actor) const { return recording_.actors.at(actor).rank; }
  void add(PathKind kind, std::uint32_t actor, std::int64_t from, std::int64_t to, std::string what);
  void idle(std::uint32_t actor, std::int64_t from, std::int64_t to, std::string what) {
    add(PathKind::idle, actor, from, to, std::move(what));
  }
  Cause through(const Span& handler, std::int64_t to);
  std::int64_t outside(const Span& handler, const std::vector<const Span*>& open, std::int64_t to);
  Cause late_rank(const Span& work, std::int64_t from, std::int64_t to);
  Cause cause_of(const Span& handler);

  // The cause on the device of the actor's rank.
  Cause on_device(Place place);
  Place through_work(const Span& work, std::int64_t to);
  Cause late_device(const Span& waits, std::int64_t from, std::int64_t to);

  const Recording& recording_;
  const Causes& causes_;
  const DeviceWork& devices_;
  const std::int64_t start_ns_;
  std::vector<PathPart> parts_;
};

}  // namespace d9d::trace
