#include "runtime/trace/why/path_walk.hpp"

#include <algorithm>
#include <boost/describe/enum_to_string.hpp>
#include <utility>

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
    case Category::wait:
      return PathKind::idle;
    case Category::io:
      return PathKind::disk;
    default:
      return PathKind::handling;
  }
}

// Where a work inside of `work` ends, before `to`.
std::int64_t end_inside(const std::vector<const Span*>& open, const Span& work, std::int64_t to) {
  std::int64_t end = work.start_ns;
  for (const Span* other : open) {
    if (other->start_ns > work.start_ns && other->end_ns < to) end = std::max(end, other->end_ns);
  }
  return end;
}

}  // namespace

const char* name_of(PathKind kind) {
  return boost::describe::enum_to_string(kind, "");
}

std::vector<PathPart> PathWalk::back_from(Place place) {
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

void PathWalk::add(PathKind kind, std::uint32_t actor, std::int64_t from, std::int64_t to, std::string what) {
  from = std::max(from, start_ns_);
  if (!parts_.empty()) to = std::min(to, at());
  if (from >= to) return;
  const ActorName& name = recording_.actors.at(actor);
  parts_.push_back({from, to, kind, name.rank, name.name, std::move(what)});
}

// Back through a handler from `to` to its start. Where a collective in it waited for another rank, the place there.
PathWalk::Cause PathWalk::through(const Span& handler, std::int64_t to) {
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
    if (work.category == Category::wait && devices_.is_late(rank_of(work.actor)))
      return on_device({work.actor, to});
    if (const auto late = late_rank(work, from, to)) return late;
    add(kind_of(work.category), work.actor, from, to, text(work));
    to = from;
  }
  return std::nullopt;
}

// The part of the handler between two works.
std::int64_t PathWalk::outside(const Span& handler, const std::vector<const Span*>& open, std::int64_t to) {
  std::int64_t from = handler.start_ns;
  for (const Span* work : open) {
    if (work->end_ns < to) from = std::max(from, work->end_ns);
  }
  add(PathKind::handling, handler.actor, from, to, text(handler));
  return from;
}

PathWalk::Cause PathWalk::late_rank(const Span& work, std::int64_t from, std::int64_t to) {
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
PathWalk::Cause PathWalk::cause_of(const Span& handler) {
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

// From device to device, back to the calls of a host that one stood idle for; where no more is on record, to the start.
PathWalk::Cause PathWalk::on_device(Place place) {
  for (std::size_t round = 0; place.ns > start_ns_ && round < 4 * recording_.spans.size() + 4; ++round) {
    const int rank = rank_of(place.actor);
    const Span* work = devices_.last_before(rank, place.ns);
    if (work == nullptr) break;
    idle(work->actor, work->end_ns, place.ns, "");
    place = through_work(*work, work->end_ns);
    if (rank_of(place.actor) != rank) continue;
    const Span* before = devices_.last_before(rank, work->start_ns);
    const std::int64_t free_ns = before == nullptr ? start_ns_ : before->end_ns;
    const Span *sender = devices_.computed_for(*work), *launch = devices_.launch_of(*work);
    if (sender != nullptr && sender->end_ns > free_ns) {
      idle(work->actor, sender->end_ns, work->start_ns, "before " + text(*work));
      place = {sender->actor, std::min(sender->end_ns, work->start_ns)};
      continue;
    }
    const auto giver = launch == nullptr ? std::nullopt : causes_.owner(*launch);
    if (giver && launch->start_ns > free_ns) {
      add(PathKind::handling, launch->actor, launch->start_ns, work->start_ns, "launch of " + text(*launch));
      return Place{*giver, launch->start_ns};
    }
    idle(work->actor, free_ns, work->start_ns, "before " + text(*work));
    place.ns = free_ns;
  }
  idle(place.actor, start_ns_, place.ns, "");
  return Place{place.actor, start_ns_};  // the walk ends there
}

// Back from `to` to where the work begins, or to where another rank comes to the collective that it stands still for.
PathWalk::Place PathWalk::through_work(const Span& work, std::int64_t to) {
  if (work.category == Category::collective) {
    if (const auto late = late_device(work, work.start_ns, to)) return *late;
    add(PathKind::communication, work.actor, work.start_ns, to, text(work));
    return {work.actor, work.start_ns};
  }
  while (to > work.start_ns) {
    const Span* stall = devices_.stall_in(work, to);
    const std::int64_t from = stall == nullptr ? work.start_ns : std::min(stall->end_ns, to);
    add(PathKind::compute, work.actor, from, to, text(work));
    if (stall == nullptr) break;
    if (const auto late = late_device(*stall, stall->start_ns, from)) return *late;
    add(PathKind::stall, stall->actor, stall->start_ns, from, text(*stall));
    to = stall->start_ns;
  }
  return {work.actor, work.start_ns};
}

PathWalk::Cause PathWalk::late_device(const Span& waits, std::int64_t from, std::int64_t to) {
  const Span* peer = causes_.latest_peer(waits);
  if (peer == nullptr || peer->start_ns <= from || peer->start_ns >= to) return std::nullopt;
  add(PathKind::communication, waits.actor, peer->start_ns, to, text(*peer));
  return Place{peer->actor, peer->start_ns};
}

}  // namespace d9d::trace
