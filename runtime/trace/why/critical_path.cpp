#include "runtime/trace/why/critical_path.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d::trace {
namespace {

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
  // The path begins at the handler that runs when the step ends, else at the last
  // one that ended before.
  const Span* end = nullptr;
  for (const Span& span : recording_.spans) {
    if (span.start_ns > path.end_ns) break;
    if (span.category != Category::message || recording_.actors.at(span.actor).rank != path.rank) continue;
    const auto ends = [&](const Span& other) { return std::min(other.end_ns, path.end_ns); };
    if (end == nullptr || ends(span) >= ends(*end)) end = &span;
  }
  if (end != nullptr)
    path.parts =
        joined(PathWalk(recording_, causes_, devices_, path.start_ns).back_from({end->actor, path.end_ns}));
  return path;
}

}  // namespace d9d::trace
