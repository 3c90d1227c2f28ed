// The two printed forms of a SlowStep.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/base/count.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/trace/steps/slow_step.hpp"

namespace d9d::trace {
namespace {

using Out = std::back_insert_iterator<std::string>;
using Json = nlohmann::ordered_json;

double in_ms(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

std::string place_of(int rank, const std::string& actor, const std::string& what) {
  std::string place = rank >= 0 ? fmt::format("rank {}, {}", rank, actor) : actor;
  if (!what.empty()) place += ": " + what;
  return place;
}

// "rank 1, compute stage 0", "ranks 0+2, compute stage 0".
std::string place_of(const PathShare& share) {
  if (share.ranks.size() < 2) return place_of(share.rank, share.actor, share.what);
  std::string place = fmt::format("ranks {}, {}", fmt::join(share.ranks, "+"), share.actor);
  return share.what.empty() ? place : place + ": " + share.what;
}

// Which one to look at, as a sentence.
void print_verdict(const SlowStep& slow, Out out) {
  if (slow.shares.empty()) return;
  const PathShare& first = slow.shares.front();
  fmt::format_to(out, "Most of {} is {} of {}: {:.3f} ms{}.\n",
                 slow.usual ? "what it took longer" : "its time", name_of(first.kind), place_of(first),
                 in_ms(first.ns), slow.usual ? fmt::format(" instead of {:.3f}", in_ms(first.usual_ns)) : "");
}

void print_head(const SlowStep& slow, Out out) {
  const CriticalPath& path = slow.path;
  fmt::format_to(out, "step {} took {:.3f} ms; the last rank to end it was {}.", path.step,
                 in_ms(path.length()), path.rank);
  if (slow.usual) {
    fmt::format_to(out, " The median of {} is step {} with {:.3f} ms.", counted(slow.steps, "step"),
                   slow.usual->step, in_ms(slow.usual->length()));
  }
  *out++ = '\n';
  print_verdict(slow, out);
}

void print_shares(const SlowStep& slow, std::size_t top, Out out) {
  fmt::format_to(out, "\nits critical path by what it consists of\n{:>10} {:>10} {:>10}  {:<14} {}\n", "ms",
                 "usual ms", "more", "kind", "where");
  const std::size_t shown = std::min(top, slow.shares.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const PathShare& share = slow.shares[i];
    fmt::format_to(out, "{:>10.3f} {:>10} {:>10}  {:<14} {}\n", in_ms(share.ns),
                   slow.usual ? fmt::format("{:.3f}", in_ms(share.usual_ns)) : "-",
                   slow.usual ? fmt::format("{:+.3f}", in_ms(share.ns - share.usual_ns)) : "-",
                   name_of(share.kind), place_of(share));
  }
  if (shown < slow.shares.size()) fmt::format_to(out, "  and {} more\n", slow.shares.size() - shown);
}

void print_stretches(const SlowStep& slow, std::size_t top, Out out) {
  std::vector<const PathPart*> longest;
  for (const PathPart& part : slow.path.parts) longest.push_back(&part);
  std::stable_sort(longest.begin(), longest.end(),
                   [](const PathPart* a, const PathPart* b) { return a->length() > b->length(); });
  longest.resize(std::min(top, longest.size()));
  std::sort(longest.begin(), longest.end(),
            [](const PathPart* a, const PathPart* b) { return a->start_ns < b->start_ns; });
  fmt::format_to(out, "\nits longest stretches, in the order of time\n{:>10} {:>10}  {:<14} {}\n", "at ms",
                 "ms", "kind", "where: what");
  for (const PathPart* part : longest) {
    fmt::format_to(out, "{:>10.3f} {:>10.3f}  {:<14} {}\n", in_ms(part->start_ns - slow.path.start_ns),
                   in_ms(part->length()), name_of(part->kind), place_of(part->rank, part->actor, part->what));
  }
}

void print_stragglers(const SlowStep& slow, Out out) {
  if (slow.stragglers.empty()) return;
  fmt::format_to(out, "\nwho computes longest, of {}\n", counted(slow.steps, "step"));
  for (const Straggler& straggler : slow.stragglers) {
    fmt::format_to(out, "  rank {} in {}, then {:.2f} x the median rank\n", straggler.rank,
                   counted(straggler.steps, "step"), straggler.over_median);
  }
}

Json json_of(const CriticalPath& path) {
  Json parts = Json::array();
  for (const PathPart& part : path.parts) {
    parts.push_back({{"start_ns", part.start_ns - path.start_ns},
                     {"ns", part.length()},
                     {"kind", name_of(part.kind)},
                     {"rank", part.rank},
                     {"actor", part.actor},
                     {"what", part.what}});
  }
  return {{"step", path.step}, {"rank", path.rank}, {"ns", path.length()}, {"parts", parts}};
}

}  // namespace

std::string to_text(const SlowStep& slow, std::size_t top) {
  std::string text;
  const Out out = std::back_inserter(text);
  print_head(slow, out);
  print_shares(slow, top, out);
  print_stretches(slow, top, out);
  print_stragglers(slow, out);
  return text;
}

std::string to_json(const SlowStep& slow) {
  Json shares = Json::array(), stragglers = Json::array();
  for (const PathShare& share : slow.shares) {
    shares.push_back({{"kind", name_of(share.kind)},
                      {"rank", share.rank},
                      {"ranks", share.ranks},
                      {"actor", share.actor},
                      {"what", share.what},
                      {"ns", share.ns},
                      {"usual_ns", share.usual_ns}});
  }
  for (const Straggler& straggler : slow.stragglers) {
    stragglers.push_back(
        {{"rank", straggler.rank}, {"steps", straggler.steps}, {"over_median", straggler.over_median}});
  }
  const Json all{{"path", json_of(slow.path)},
                 {"usual", slow.usual ? json_of(*slow.usual) : Json()},
                 {"shares", shares},
                 {"stragglers", stragglers},
                 {"steps", slow.steps}};
  return shown_json(all, 2);
}

}  // namespace d9d::trace
