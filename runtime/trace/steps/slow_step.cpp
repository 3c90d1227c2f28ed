#include "runtime/trace/steps/slow_step.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/base/error.hpp"
#include "runtime/trace/steps/alike_ranks.hpp"
#include "runtime/trace/steps/step_bounds.hpp"

namespace d9d::trace {
namespace {

using Key = std::tuple<PathKind, int, std::string, std::string>;

// Of a share, by the rank on which it went by.
struct OnRank {
  std::int64_t ns = 0;
  std::string actor;
};
struct Sums {
  PathShare share;
  std::map<int, OnRank> here, usual;
};

void add_path(std::map<Key, Sums>& shares, const CriticalPath& path, const AlikeRanks& alike, bool is_usual) {
  for (const PathPart& part : path.parts) {
    const bool by_name = part.kind == PathKind::message || part.kind == PathKind::idle;
    const std::string what = by_name ? part.what : "";
    Sums& sums = shares[{part.kind, alike.first(part.rank), alike.part(part.rank, part.actor), what}];
    sums.share.kind = part.kind;
    sums.share.what = what;
    (is_usual ? sums.share.usual_ns : sums.share.ns) += part.length();
    OnRank& on = (is_usual ? sums.usual : sums.here)[part.rank];
    on.ns += part.length();
    on.actor = part.actor;
  }
}

PathShare placed(Sums sums) {
  const std::map<int, OnRank>& ranks = sums.here.empty() ? sums.usual : sums.here;
  const auto most = std::max_element(ranks.begin(), ranks.end(),
                                     [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  sums.share.rank = most->first;
  sums.share.actor = most->second.actor;
  for (const auto& [rank, on] : ranks) sums.share.ranks.push_back(rank);
  return std::move(sums.share);
}

std::vector<PathShare> shares_of(const Recording& recording, const CriticalPath& path,
                                 const CriticalPath* usual) {
  const AlikeRanks alike(recording);
  std::map<Key, Sums> shares;
  add_path(shares, path, alike, false);
  if (usual != nullptr) add_path(shares, *usual, alike, true);
  std::vector<PathShare> sorted;
  sorted.reserve(shares.size());
  for (auto& [key, sums] : shares) sorted.push_back(placed(std::move(sums)));
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
  const StepBounds bounds(recording);
  for (const Span& span : recording.spans) {
    const int rank = recording.actors.at(span.actor).rank;
    if (rank < 0 || !std::binary_search(steps.begin(), steps.end(), span.step)) continue;
    if (bounds.is_between_steps(span)) continue;
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
  slow.shares = shares_of(recording, slow.path, slow.usual ? &*slow.usual : nullptr);
  slow.stragglers = stragglers_of(recording, steps);
  slow.steps = static_cast<int>(steps.size());
  return slow;
}

}  // namespace d9d::trace
