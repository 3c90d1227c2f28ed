// The two printed forms of an Analysis.

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/base/count.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/trace/analysis.hpp"

namespace d9d::trace {
namespace {

double milliseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void print_ranks(const Analysis& analysis, std::back_insert_iterator<std::string> out) {
  fmt::format_to(out, "{:>4} {:>6} {:>10} | {:>9} {:>13} {:>8} {:>13} {:>7} | {:>18}\n", "rank", "steps",
                 "step ms", "compute", "exposed comm", "bubble", "mailbox wait", "other", "comm hidden");
  for (const RankReport& rank : analysis.ranks) {
    const std::int64_t total = rank.time.total();
    fmt::format_to(
        out,
        "{:>4} {:>6} {:>10.3f} | {:>7.2f} % {:>11.2f} % {:>6.2f} % {:>11.2f} % {:>5.2f} % | {:>16.2f} %\n",
        rank.rank, rank.steps, milliseconds(total) / std::max(rank.steps, 1),
        percent(rank.time.compute, total), percent(rank.time.exposed_communication, total),
        percent(rank.time.bubble, total), percent(rank.time.mailbox_wait, total),
        percent(rank.time.other, total),
        percent(rank.communication - rank.time.exposed_communication, rank.communication));
  }
}

void print_edges(const Analysis& analysis, std::size_t top, std::back_insert_iterator<std::string> out) {
  if (analysis.edges.empty()) return;
  fmt::format_to(
      out, "\nslowest edges, by time from being sent to being handled\n{:>11} {:>9} {:>10} {:>10}  {}\n",
      "total ms", "messages", "mean ms", "max ms", "sender -> receiver: message");
  for (std::size_t i = 0; i < std::min(top, analysis.edges.size()); ++i) {
    const EdgeReport& edge = analysis.edges[i];
    fmt::format_to(out, "{:>11.3f} {:>9} {:>10.3f} {:>10.3f}  {} -> {}: {}\n", milliseconds(edge.queue_total),
                   edge.count, milliseconds(edge.queue_total) / static_cast<double>(edge.count),
                   milliseconds(edge.queue_max), edge.sender, edge.receiver, edge.message);
  }
}

void print_actors(const Analysis& analysis, std::size_t top, std::back_insert_iterator<std::string> out) {
  if (analysis.actors.empty()) return;
  fmt::format_to(out, "\nbusiest actors\n{:>11} {:>9}  {}\n", "busy ms", "messages", "actor");
  for (std::size_t i = 0; i < std::min(top, analysis.actors.size()); ++i) {
    const ActorReport& actor = analysis.actors[i];
    fmt::format_to(out, "{:>11.3f} {:>9}  {}\n", milliseconds(actor.busy), actor.messages, actor.actor);
  }
}

void print_kernels(const KernelReport& report, std::size_t top, std::back_insert_iterator<std::string> out) {
  if (report.kernels.empty()) return;
  fmt::format_to(out,
                 "\nkernels of devices, which run one for {:.2f} % of the steps on record\n{:>11} {:>7} "
                 "{:>9} {:>10} {:>10}  {}\n",
                 percent(report.busy, report.observed), "total ms", "share", "count", "mean us", "max us",
                 "kernel");
  for (std::size_t i = 0; i < std::min(top, report.kernels.size()); ++i) {
    const KernelTotal& kernel = report.kernels[i];
    fmt::format_to(out, "{:>11.3f} {:>5.1f} % {:>9} {:>10.1f} {:>10.1f}  {}\n", milliseconds(kernel.total),
                   percent(kernel.total, report.total()), kernel.count,
                   1e3 * milliseconds(kernel.total) / static_cast<double>(kernel.count),
                   1e3 * milliseconds(kernel.max), kernel.name);
  }
}

nlohmann::ordered_json to_json_object(const KernelReport& report) {
  auto kernels = nlohmann::ordered_json::array();
  for (const KernelTotal& kernel : report.kernels)
    kernels.push_back(
        {{"name", kernel.name}, {"count", kernel.count}, {"total_ns", kernel.total}, {"max_ns", kernel.max}});
  return {{"observed_ns", report.observed}, {"busy_ns", report.busy}, {"kernels", kernels}};
}

nlohmann::ordered_json to_json_object(const TimeSplit& time) {
  return {{"compute", time.compute}, {"exposed_communication", time.exposed_communication},
          {"bubble", time.bubble},   {"mailbox_wait", time.mailbox_wait},
          {"other", time.other},     {"total", time.total()}};
}

}  // namespace

std::string to_text(const Analysis& analysis, std::size_t top) {
  std::string text;
  auto out = std::back_inserter(text);
  const StepReport& steps = analysis.steps;
  if (analysis.ranks.empty()) {
    fmt::format_to(
        out, "{}\n",
        analysis.actors.empty()
            ? "no spans in the trace"
            : "no training step in the trace: the job had nothing to train, or ended before its first");
  } else {
    fmt::format_to(out, "{} on {}: mean {:.3f} ms, median {:.3f} ms, max {:.3f} ms (step {}, rank {})\n\n",
                   counted(steps.count, "step"), counted(analysis.ranks.size(), "rank"),
                   milliseconds(steps.mean), milliseconds(steps.median), milliseconds(steps.max),
                   steps.max_step, steps.max_rank);
    print_ranks(analysis, out);
    fmt::format_to(out, "\noutside compute and collectives: {:.2f} %, of which actors' own work {:.2f} %\n",
                   100.0 * analysis.outside_compute_and_collectives(), 100.0 * analysis.other_share());
  }
  print_kernels(analysis.kernels, top, out);
  print_edges(analysis, top, out);
  print_actors(analysis, top, out);
  if (analysis.lost > 0) {
    fmt::format_to(
        out, "\n{} of earlier steps not in the trace: the rings had overwritten what was recorded first\n",
        counted(analysis.lost, "span"));
  }
  return text;
}

std::string to_json(const Analysis& analysis) {
  using Json = nlohmann::ordered_json;
  Json ranks = Json::array(), edges = Json::array(), actors = Json::array();
  for (const RankReport& rank : analysis.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"steps", rank.steps},
                     {"time_ns", to_json_object(rank.time)},
                     {"communication_ns", rank.communication}});
  }
  for (const EdgeReport& edge : analysis.edges) {
    edges.push_back({{"sender", edge.sender},
                     {"receiver", edge.receiver},
                     {"message", edge.message},
                     {"count", edge.count},
                     {"queue_total_ns", edge.queue_total},
                     {"queue_max_ns", edge.queue_max},
                     {"bytes", edge.bytes}});
  }
  for (const ActorReport& actor : analysis.actors) {
    actors.push_back({{"actor", actor.actor}, {"messages", actor.messages}, {"busy_ns", actor.busy}});
  }
  const StepReport& steps = analysis.steps;
  const Json all{{"steps",
                  {{"count", steps.count},
                   {"mean_ns", steps.mean},
                   {"median_ns", steps.median},
                   {"max_ns", steps.max},
                   {"max_step", steps.max_step},
                   {"max_rank", steps.max_rank}}},
                 {"ranks", ranks},
                 {"outside_compute_and_collectives", analysis.outside_compute_and_collectives()},
                 {"other_share", analysis.other_share()},
                 {"kernels", to_json_object(analysis.kernels)},
                 {"edges", edges},
                 {"actors", actors},
                 {"lost_spans", analysis.lost}};
  return shown_json(all, 2);
}

}  // namespace d9d::trace
