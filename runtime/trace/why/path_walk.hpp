#pragma once
// Walks back from the end of a step, from each piece of work to what it had to wait
// for (critical_path.hpp): on hosts over handlers and messages, on devices over the
// work of their streams.

#include <boost/describe/enum.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/record/recorder.hpp"
#include "runtime/trace/why/causes.hpp"
#include "runtime/trace/why/device_work.hpp"

namespace d9d::trace {

enum class PathKind {
  compute,
  communication,  // a collective, after all of its ranks had come
  stall,          // compute waits for communication, and no late rank is known
  handling,       // an actor handles a message
  disk,
  message,  // on the way, or in the mailbox of an otherwise idle actor
  idle,     // nothing on record: a timer, another program, or what was not traced
};
BOOST_DESCRIBE_ENUM(PathKind, compute, communication, stall, handling, disk, message, idle)
const char* name_of(PathKind kind);

struct PathPart {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  PathKind kind = PathKind::idle;
  int rank = -1;      // where the time passes
  std::string actor;  // its track: "compute stage 1", "trainer/0"; for a message the receiver's
  std::string what;   // "1F0", "all_reduce", "BatchReady"
  std::int64_t length() const { return end_ns - start_ns; }
};

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
