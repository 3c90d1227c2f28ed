#include "runtime/trace/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "runtime/trace/sweep.hpp"

namespace d9d::trace {
namespace {

enum Layer : std::size_t { in_step, computing, stalled, communicating, waiting, busy, queued, layer_count };

struct Step {
  int number = -1;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

struct RankSpans {
  std::vector<const Span*> spans, of_device;
  std::vector<Step> steps;
};

std::string label(const ActorName& actor) {
  return actor.rank >= 0 ? fmt::format("{}@{}", actor.name, actor.rank)
                         : fmt::format("{}@node{}", actor.name, actor.node);
}

Layer layer_of(Category category) {
  switch (category) {
    case Category::compute:
      return computing;
    case Category::collective:
      return communicating;
    case Category::wait:
      return waiting;
    case Category::stall:
      return stalled;
    default:
      return busy;
  }
}

bool idle(Category category) {
  return category == Category::wait || category == Category::stall;
}

// For traces without step spans: a step goes from its first action to the first action of the next.
std::vector<Step> steps_from_actions(const std::vector<const Span*>& spans) {
  std::map<int, Step> by_number;
  for (const Span* span : spans) {
    if (span->step < 0 || (span->category != Category::compute && span->category != Category::collective))
      continue;
    const auto [entry, is_new] =
        by_number.try_emplace(span->step, Step{span->step, span->start_ns, span->end_ns});
    entry->second.start = std::min(entry->second.start, span->start_ns);
    entry->second.end = std::max(entry->second.end, span->end_ns);
  }
  std::vector<Step> steps;
  for (const auto& [number, step] : by_number) {
    if (!steps.empty()) steps.back().end = step.start;
    steps.push_back(step);
  }
  return steps;
}

std::map<int, RankSpans> spans_by_rank(const Recording& recording) {
  std::map<int, RankSpans> ranks;
  for (const Span& span : recording.spans) {
    const int rank = recording.actors.at(span.actor).rank;
    if (rank < 0 || span.category == Category::counter || span.category == Category::kernel) continue;
    RankSpans& mine = ranks[rank];
    if (span.category == Category::step) {
      mine.steps.push_back({span.step, span.start_ns, span.end_ns});
    } else {
      const bool on_device = recording.actors.at(span.actor).name.starts_with(device_tracks);
      (on_device ? mine.of_device : mine.spans).push_back(&span);
    }
  }
  for (auto& [rank, mine] : ranks) {
    if (!mine.of_device.empty()) mine.spans = std::move(mine.of_device);
    if (mine.steps.empty()) mine.steps = steps_from_actions(mine.spans);
  }
  std::erase_if(ranks, [](const auto& rank) { return rank.second.steps.empty(); });
  return ranks;
}

RankReport report_rank(int rank, const RankSpans& mine) {
  Sweep<layer_count> sweep;
  for (const Step& step : mine.steps) sweep.add(in_step, step.start, step.end);
  for (const Span* span : mine.spans) {
    sweep.add(layer_of(span->category), span->start_ns, span->end_ns);
    if (span->enqueue_ns != 0) sweep.add(queued, span->enqueue_ns, span->start_ns);
  }
  RankReport report{.rank = rank, .steps = static_cast<int>(mine.steps.size())};
  TimeSplit& time = report.time;
  sweep.walk([&](const auto& open, std::int64_t length) {
    if (open[in_step] == 0) return;
    if (open[communicating] > 0) report.communication += length;
    std::int64_t& part = open[computing] > open[stalled] ? time.compute
                         : open[communicating] > 0       ? time.exposed_communication
                         : open[waiting] > 0             ? time.bubble
                         : open[busy] > 0                ? time.other
                         : open[queued] > 0              ? time.mailbox_wait
                                                         : time.bubble;
    part += length;
  });
  return report;
}

StepReport report_steps(const std::map<int, RankSpans>& ranks) {
  StepReport report;
  std::vector<std::int64_t> lengths;
  std::vector<int> numbers;
  for (const auto& [rank, mine] : ranks) {
    for (const Step& step : mine.steps) {
      const std::int64_t length = step.end - step.start;
      lengths.push_back(length);
      numbers.push_back(step.number);
      report.mean += length;
      if (length <= report.max) continue;
      report.max = length;
      report.max_step = step.number;
      report.max_rank = rank;
    }
  }
  if (lengths.empty()) return report;
  report.mean /= static_cast<std::int64_t>(lengths.size());
  std::sort(lengths.begin(), lengths.end());
  report.median = lengths[lengths.size() / 2];
  std::sort(numbers.begin(), numbers.end());
  report.count = static_cast<int>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
  return report;
}

std::vector<EdgeReport> report_edges(const Recording& recording) {
  std::unordered_map<std::uint64_t, std::uint32_t> senders;
  for (const Span& span : recording.spans) {
    if (span.flow_out != 0) senders[span.flow_out] = span.actor;
  }
  std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>, EdgeReport> edges;
  for (const Span& span : recording.spans) {
    if (span.category != Category::message || span.enqueue_ns == 0) continue;
    const auto sender = senders.find(span.flow_in);
    const bool known = span.flow_in != 0 && sender != senders.end();
    if (known && sender->second == span.actor) continue;  // a timer: it waits because it was asked to
    EdgeReport& edge = edges[{known ? std::int64_t{sender->second} : -1, span.actor, span.name}];
    if (edge.count == 0) {
      edge.sender = known ? label(recording.actors.at(sender->second)) : "?";
      edge.receiver = label(recording.actors.at(span.actor));
      edge.message = recording.names.at(span.name);
    }
    const std::int64_t queue = std::max<std::int64_t>(span.start_ns - span.enqueue_ns, 0);
    ++edge.count;
    edge.queue_total += queue;
    edge.queue_max = std::max(edge.queue_max, queue);
    edge.bytes += span.bytes;
  }
  std::vector<EdgeReport> result;
  result.reserve(edges.size());
  for (auto& [key, edge] : edges) result.push_back(std::move(edge));
  std::stable_sort(result.begin(), result.end(),
                   [](const EdgeReport& a, const EdgeReport& b) { return a.queue_total > b.queue_total; });
  return result;
}

std::vector<ActorReport> report_actors(const Recording& recording) {
  std::vector<Sweep<layer_count>> sweeps(recording.actors.size());
  std::vector<ActorReport> result(recording.actors.size());
  for (const Span& span : recording.spans) {
    if (span.category == Category::step || span.category == Category::counter ||
        span.category == Category::kernel)
      continue;
    sweeps.at(span.actor).add(idle(span.category) ? waiting : busy, span.start_ns, span.end_ns);
    if (span.category == Category::message) ++result[span.actor].messages;
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].actor = label(recording.actors[i]);
    sweeps[i].walk([&](const auto& open, std::int64_t length) {
      if (open[busy] > 0 && open[waiting] == 0) result[i].busy += length;
    });
  }
  std::erase_if(result, [](const ActorReport& actor) { return actor.busy == 0 && actor.messages == 0; });
  std::stable_sort(result.begin(), result.end(),
                   [](const ActorReport& a, const ActorReport& b) { return a.busy > b.busy; });
  return result;
}

double share(const std::vector<RankReport>& ranks, std::int64_t (*part)(const TimeSplit&)) {
  std::int64_t sum = 0, total = 0;
  for (const RankReport& rank : ranks) {
    sum += part(rank.time);
    total += rank.time.total();
  }
  return total == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(total);
}

}  // namespace

double Analysis::outside_compute_and_collectives() const {
  return share(ranks, [](const TimeSplit& time) { return time.bubble + time.other + time.mailbox_wait; });
}

double Analysis::other_share() const {
  return share(ranks, [](const TimeSplit& time) { return time.other; });
}

Analysis analyze(const Recording& recording) {
  const std::map<int, RankSpans> ranks = spans_by_rank(recording);
  Analysis analysis;
  for (const auto& [rank, mine] : ranks) analysis.ranks.push_back(report_rank(rank, mine));
  analysis.steps = report_steps(ranks);
  analysis.edges = report_edges(recording);
  analysis.actors = report_actors(recording);
  analysis.kernels = report_kernels(recording);
  analysis.lost = recording.lost;
  return analysis;
}

}  // namespace d9d::trace
