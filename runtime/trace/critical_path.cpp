#include "runtime/trace/critical_path.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d::trace {
namespace {

PathKind kind_of(Category category) {
  switch (category) {
    case Category::compute:
      return PathKind::compute;
    case Category::collective:
      return PathKind::communication;
    case Category::stall:
      return PathKind::stall;
    case Category::io:
      return PathKind::disk;
    default:
      return PathKind::handling;
  }
}

// Where the walk is: something that `actor` did ended or was told at `ns`.
struct Place {
  std::uint32_t actor;
  std::int64_t ns;
};

class Walk {
 public:
  Walk(const Recording& recording, const Causes& causes, std::int64_t start_ns)
      : recording_(recording), causes_(causes), start_ns_(start_ns) {}

  // The parts, the last one first.
  std::vector<PathPart> back_from(Place place) {
    // Each round goes back in time or to another span; clocks of nodes that disagree must not make it run in circles.
    for (std::size_t round = 0; place.ns > start_ns_ && round < 4 * recording_.spans.size() + 4; ++round) {
      const Span* handler = causes_.handled_before(place.actor, place.ns);
      if (handler == nullptr) break;
      if (handler->end_ns < place.ns) idle(place.actor, handler->end_ns, place.ns, "");
      const auto late = through(*handler, std::min(handler->end_ns, place.ns));
      const auto next = late ? late : cause_of(*handler);
      if (!next) break;
      place = *next;
    }
    if (at() > start_ns_) idle(place.actor, start_ns_, at(), "");
    return std::move(parts_);
  }

 private:
  std::int64_t at() const { return parts_.empty() ? start_ns_ : parts_.back().start_ns; }

  void add(PathKind kind, std::uint32_t actor, std::int64_t from, std::int64_t to, std::string what) {
    from = std::max(from, start_ns_);
    if (!parts_.empty()) to = std::min(to, at());
    if (from >= to) return;
    const ActorName& name = recording_.actors.at(actor);
    parts_.push_back({from, to, kind, name.rank, name.name, std::move(what)});
  }
  void idle(std::uint32_t actor, std::int64_t from, std::int64_t to, std::string what) {
    add(PathKind::idle, actor, from, to, std::move(what));
  }
  std::string text(const Span& span) const { return recording_.names.at(span.name); }

  // Back through a handler from `to` to its start. Where a collective in it waited for another rank, the place there.
  std::optional<Place> through(const Span& handler, std::int64_t to) {
    std::vector<const Span*> open;  // that began before `to`, the last one first
    for (const Span* work : causes_.work_in(handler)) {
      if (work->start_ns < to) open.push_back(work);
    }
    std::reverse(open.begin(), open.end());
    while (to > handler.start_ns) {
      // The innermost span at this moment is the one that began last of those that go on.
      const auto inner = std::find_if(open.begin(), open.end(), [&](const Span* work) {
        return work->start_ns < to && work->end_ns >= to;
      });
      if (inner == open.end()) {
        to = outside(handler, open, to);
        continue;
      }
      const Span& work = **inner;
      const std::int64_t from = std::max({work.start_ns, handler.start_ns, end_inside(open, work, to)});
      if (const auto late = late_rank(work, from, to)) return late;
      add(kind_of(work.category), work.actor, from, to, text(work));
      to = from;
    }
    return std::nullopt;
  }

  // The part of the handler between two works.
  std::int64_t outside(const Span& handler, const std::vector<const Span*>& open, std::int64_t to) {
    std::int64_t from = handler.start_ns;
    for (const Span* work : open) {
      if (work->end_ns < to) from = std::max(from, work->end_ns);
    }
    add(PathKind::handling, handler.actor, from, to, text(handler));
    return from;
  }

  // Where a work inside of `work` ends, before `to`.
  static std::int64_t end_inside(const std::vector<const Span*>& open, const Span& work, std::int64_t to) {
    std::int64_t end = work.start_ns;
    for (const Span* other : open) {
      if (other->start_ns > work.start_ns && other->end_ns < to) end = std::max(end, other->end_ns);
    }
    return end;
  }

  std::optional<Place> late_rank(const Span& work, std::int64_t from, std::int64_t to) {
    if (work.category != Category::collective && work.category != Category::stall) return std::nullopt;
    const Span* peer = causes_.latest_peer(work);
    if (peer == nullptr || peer->start_ns <= from || peer->start_ns >= to) return std::nullopt;
    const int rank = recording_.actors.at(peer->actor).rank;
    const auto actor = causes_.owner(*peer) ? causes_.owner(*peer) : causes_.computing_actor(rank);
    if (!actor) return std::nullopt;
    add(PathKind::communication, work.actor, peer->start_ns, to, text(*peer));
    return Place{*actor, peer->start_ns};
  }

  // Why a handler did not begin earlier: its actor was busy, or its message was not there.
  std::optional<Place> cause_of(const Span& handler) {
    const Span* before = causes_.previous(handler);
    const Span* sender = causes_.sender(handler);
    const bool known = sender != nullptr && causes_.owner(*sender);
    if (before != nullptr && (!known || before->end_ns >= handler.enqueue_ns)) {
      if (known) {
        add(PathKind::message, handler.actor, before->end_ns, handler.start_ns, text(handler));
      } else {
        idle(handler.actor, before->end_ns, handler.start_ns, "before " + text(handler));
      }
      return Place{handler.actor, before->end_ns};
    }
    if (!known) return std::nullopt;
    add(PathKind::message, handler.actor, handler.enqueue_ns, handler.start_ns, text(handler));
    return Place{*causes_.owner(*sender), handler.enqueue_ns};
  }

  const Recording& recording_;
  const Causes& causes_;
  const std::int64_t start_ns_;
  std::vector<PathPart> parts_;
};

// What stands beside each other and is the same, as one.
std::vector<PathPart> joined(std::vector<PathPart> parts) {
  std::reverse(parts.begin(), parts.end());
  std::vector<PathPart> all;
  for (PathPart& part : parts) {
    const bool same = !all.empty() && all.back().kind == part.kind && all.back().rank == part.rank &&
                      all.back().actor == part.actor && all.back().what == part.what &&
                      all.back().end_ns == part.start_ns;
    if (same) {
      all.back().end_ns = part.end_ns;
    } else {
      all.push_back(std::move(part));
    }
  }
  return all;
}

}  // namespace

const char* name_of(PathKind kind) {
  switch (kind) {
    case PathKind::compute:
      return "compute";
    case PathKind::communication:
      return "communication";
    case PathKind::stall:
      return "stall";
    case PathKind::handling:
      return "handling";
    case PathKind::disk:
      return "disk";
    case PathKind::message:
      return "message";
    case PathKind::idle:
      return "idle";
  }
  return "";
}

std::vector<int> whole_steps(const Recording& recording) {
  std::map<int, std::set<int>> ranks_of;
  std::set<int> ranks;
  for (const Span& span : recording.spans) {
    if (span.category != Category::step) continue;
    ranks.insert(recording.actors.at(span.actor).rank);
    ranks_of[span.step].insert(recording.actors.at(span.actor).rank);
  }
  std::vector<int> steps;
  for (const auto& [step, of_step] : ranks_of) {
    if (of_step == ranks) steps.push_back(step);
  }
  return steps;
}

CriticalPath CriticalPathFinder::find(int step) const {
  const Span* last = nullptr;
  for (const Span& span : recording_.spans) {
    if (span.category != Category::step || span.step != step) continue;
    if (last == nullptr || span.end_ns > last->end_ns) last = &span;
  }
  D9D_REQUIRE(last != nullptr, "the trace has no span of step {}; give another --step, or trace it", step);
  CriticalPath path{step, recording_.actors.at(last->actor).rank, last->start_ns, last->end_ns, {}};
  // The end of a step is told by the handler that goes on then, or that ended last.
  const Span* end = nullptr;
  for (const Span& span : recording_.spans) {
    if (span.start_ns > path.end_ns) break;
    if (span.category != Category::message || recording_.actors.at(span.actor).rank != path.rank) continue;
    const auto ends = [&](const Span& other) { return std::min(other.end_ns, path.end_ns); };
    if (end == nullptr || ends(span) >= ends(*end)) end = &span;
  }
  if (end != nullptr)
    path.parts = joined(Walk(recording_, causes_, path.start_ns).back_from({end->actor, path.end_ns}));
  return path;
}

}  // namespace d9d::trace
