#include "runtime/trace/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "runtime/base/count.hpp"

namespace d9d::trace {
namespace {

struct Pair {
  double now = 0;  // ms
  double before = 0;
  double change() const { return now - before; }
};

// Mean over the steps of all ranks.
double mean_ms(const Analysis& analysis, std::int64_t (*part)(const TimeSplit&)) {
  std::int64_t sum = 0;
  int steps = 0;
  for (const RankReport& rank : analysis.ranks) {
    sum += part(rank.time);
    steps += rank.steps;
  }
  return steps == 0 ? 0 : static_cast<double>(sum) / steps / 1e6;
}

std::map<std::string, Pair> actors_of(const Analysis& run, const Analysis& against) {
  std::map<std::string, Pair> actors;
  const auto add = [&](const Analysis& analysis, double Pair::*value) {
    const int steps = std::max(analysis.steps.count, 1);
    for (const ActorReport& actor : analysis.actors)
      actors[actor.actor].*value += static_cast<double>(actor.busy) / steps / 1e6;
  };
  add(run, &Pair::now);
  add(against, &Pair::before);
  return actors;
}

std::string row(const std::string& name, const Pair& pair) {
  const std::string ratio = pair.before > 0 ? fmt::format("{:.3f} x", pair.now / pair.before) : "-";
  return fmt::format("{:>12.3f} {:>12.3f} {:>+12.3f} {:>10}  {}\n", pair.now, pair.before, pair.change(),
                     ratio, name);
}

}  // namespace

std::string compare(const Analysis& run, const Analysis& against, std::size_t top) {
  std::string text = fmt::format("{} against {}\n\n{:>12} {:>12} {:>12} {:>10}  mean of a rank's step\n",
                                 counted(run.steps.count, "step"), counted(against.steps.count, "step"), "ms",
                                 "against ms", "change", "ratio");
  const auto add = [&](const char* name, std::int64_t (*part)(const TimeSplit&)) {
    text += row(name, {mean_ms(run, part), mean_ms(against, part)});
  };
  add("whole step", [](const TimeSplit& time) { return time.total(); });
  add("compute", [](const TimeSplit& time) { return time.compute; });
  add("exposed communication", [](const TimeSplit& time) { return time.exposed_communication; });
  add("bubble", [](const TimeSplit& time) { return time.bubble; });
  add("mailbox wait", [](const TimeSplit& time) { return time.mailbox_wait; });
  add("other", [](const TimeSplit& time) { return time.other; });

  const std::map<std::string, Pair> by_name = actors_of(run, against);
  std::vector<std::pair<std::string, Pair>> actors(by_name.begin(), by_name.end());
  std::stable_sort(actors.begin(), actors.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second.change()) > std::abs(b.second.change());
  });
  text +=
      fmt::format("\n{:>12} {:>12} {:>12} {:>10}  busy time of an actor per step, what changed most first\n",
                  "ms", "against ms", "change", "ratio");
  for (std::size_t i = 0; i < std::min(top, actors.size()); ++i)
    text += row(actors[i].first, actors[i].second);
  return text;
}

}  // namespace d9d::trace
