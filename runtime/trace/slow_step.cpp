#include "runtime/trace/slow_step.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/base/error.hpp"

namespace d9d::trace {
namespace {

using Key = std::tuple<PathKind, int, std::string, std::string>;

Key key_of(const PathPart& part) {
  const bool by_name = part.kind == PathKind::message || part.kind == PathKind::idle;
  return {part.kind, part.rank, part.actor, by_name ? part.what : ""};
}

std::vector<PathShare> shares_of(const CriticalPath& path, const CriticalPath* usual) {
  std::map<Key, PathShare> shares;
  const auto add = [&](const CriticalPath& of, std::int64_t PathShare::*sum) {
    for (const PathPart& part : of.parts) {
      const Key key = key_of(part);
      PathShare& share =
          shares.try_emplace(key, PathShare{part.kind, part.rank, part.actor, std::get<3>(key)})
              .first->second;
      share.*sum += part.length();
    }
  };
  add(path, &PathShare::ns);
  if (usual != nullptr) add(*usual, &PathShare::usual_ns);
  std::vector<PathShare> sorted;
  sorted.reserve(shares.size());
  for (auto& [key, share] : shares) sorted.push_back(std::move(share));
  std::stable_sort(sorted.begin(), sorted.end(), [](const PathShare& a, const PathShare& b) {
    return a.ns - a.usual_ns > b.ns - b.usual_ns;
  });
  return sorted;
}

// From the begin of the first rank to the end of the last one.
std::map<int, std::int64_t> lengths_of_steps(const Recording& recording, const std::vector<int>& steps) {
  std::map<int, std::pair<std::int64_t, std::int64_t>> bounds;
  for (const Span& span : recording.spans) {
    if (span.category != Category::step || !std::binary_search(steps.begin(), steps.end(), span.step))
      continue;
    auto& [start, end] = bounds.try_emplace(span.step, span.start_ns, span.end_ns).first->second;
    start = std::min(start, span.start_ns);
    end = std::max(end, span.end_ns);
  }
  std::map<int, std::int64_t> lengths;
  for (const auto& [step, bound] : bounds) lengths[step] = bound.second - bound.first;
  return lengths;
}

// Compute without stalls, by step and rank.
std::map<int, std::map<int, std::int64_t>> compute_of_steps(const Recording& recording,
                                                            const std::vector<int>& steps) {
  std::map<int, std::map<int, std::int64_t>> compute;
  for (const Span& span : recording.spans) {
    const int rank = recording.actors.at(span.actor).rank;
    if (rank < 0 || !std::binary_search(steps.begin(), steps.end(), span.step)) continue;
    if (span.category == Category::compute) compute[span.step][rank] += span.end_ns - span.start_ns;
    if (span.category == Category::stall) compute[span.step][rank] -= span.end_ns - span.start_ns;
  }
  return compute;
}

std::int64_t median_of(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<Straggler> stragglers_of(const Recording& recording, const std::vector<int>& steps) {
  std::map<int, Straggler> by_rank;
  for (const auto& [step, ranks] : compute_of_steps(recording, steps)) {
    if (ranks.size() < 2) continue;
    const auto slowest = std::max_element(ranks.begin(), ranks.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    std::vector<std::int64_t> all;
    for (const auto& [rank, ns] : ranks) all.push_back(ns);
    Straggler& straggler = by_rank[slowest->first];
    straggler.rank = slowest->first;
    ++straggler.steps;
    straggler.over_median +=
        static_cast<double>(slowest->second) / static_cast<double>(std::max<std::int64_t>(median_of(all), 1));
  }
  std::vector<Straggler> sorted;
  for (auto& [rank, straggler] : by_rank) {
    straggler.over_median /= straggler.steps;
    sorted.push_back(straggler);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Straggler& a, const Straggler& b) { return a.steps > b.steps; });
  return sorted;
}

}  // namespace

SlowStep explain_step(const Recording& recording, std::optional<int> step) {
  const std::vector<int> steps = whole_steps(recording);
  D9D_REQUIRE(!steps.empty(),
              "the trace has no step that all of its ranks have whole; give the traces of all nodes");
  const std::map<int, std::int64_t> lengths = lengths_of_steps(recording, steps);
  std::vector<std::pair<std::int64_t, int>> by_length;
  for (const auto& [number, length] : lengths) by_length.emplace_back(length, number);
  std::sort(by_length.begin(), by_length.end());
  const int wanted = step.value_or(by_length.back().second);
  const int median = by_length[(by_length.size() - 1) / 2].second;

  const CriticalPathFinder finder(recording);
  SlowStep slow{.path = finder.find(wanted), .usual = {}, .shares = {}, .stragglers = {}};
  if (median != wanted) slow.usual = finder.find(median);
  slow.shares = shares_of(slow.path, slow.usual ? &*slow.usual : nullptr);
  slow.stragglers = stragglers_of(recording, steps);
  slow.steps = static_cast<int>(steps.size());
  return slow;
}

}  // namespace d9d::trace
