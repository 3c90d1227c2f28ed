#include "runtime/report/section/time_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/report/chart/bar_chart.hpp"
#include "runtime/report/html.hpp"

namespace d9d::report {
namespace {

constexpr std::size_t ranks_max = 64;
constexpr std::size_t top = 12;
constexpr const char* what_to_do_with_mailboxes =
    "Look here when the ranks above spend time in \"mailbox wait\"; else nothing in a step waited for these. "
    "A message waits while its receiver, right of the arrow, does something else. At the top a loader means "
    "that data is prepared too slowly, a checkpoint_writer or tracker that the disk is slow, a collective "
    "that ranks reach their sums at different times, a rank_executor that its actions are longer than those "
    "of the rank that sent.";

double ms(std::int64_t ns) {
  return 1e-6 * static_cast<double>(ns);
}

Cell ms_cell(double milliseconds) {
  return number_cell(fmt::format("{:.3f}", milliseconds));
}

Cell percent_cell(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return number_cell("-");
  return number_cell(fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole)));
}

std::string rank_bars(const trace::Analysis& analysis) {
  const std::vector<Share> shares{{"compute", "compute"},
                                  {"communication that nothing hides", "comm"},
                                  {"bubble", "bubble"},
                                  {"mailbox wait", "wait"},
                                  {"other", "other"}};
  std::vector<BarRow> rows;
  for (std::size_t i = 0; i < std::min(ranks_max, analysis.ranks.size()); ++i) {
    const trace::TimeSplit& time = analysis.ranks[i].time;
    BarRow row{fmt::format("rank {}", analysis.ranks[i].rank), {}};
    for (const std::int64_t part :
         {time.compute, time.exposed_communication, time.bubble, time.mailbox_wait, time.other})
      row.parts.push_back(static_cast<double>(part));
    rows.push_back(std::move(row));
  }
  return bar_chart("Step time of each rank", shares, rows);
}

std::string rank_table(const trace::Analysis& analysis) {
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < std::min(ranks_max, analysis.ranks.size()); ++i) {
    const trace::RankReport& rank = analysis.ranks[i];
    const std::int64_t total = rank.time.total();
    rows.push_back({number_cell(fmt::format("{}", rank.rank)), number_cell(fmt::format("{}", rank.steps)),
                    ms_cell(ms(total) / std::max(rank.steps, 1)), percent_cell(rank.time.compute, total),
                    percent_cell(rank.time.exposed_communication, total),
                    percent_cell(rank.time.bubble, total), percent_cell(rank.time.mailbox_wait, total),
                    percent_cell(rank.time.other, total),
                    percent_cell(rank.communication - rank.time.exposed_communication, rank.communication)});
  }
  std::vector<Cell> heads;
  for (const char* head : {"rank", "steps", "step ms", "compute", "exposed comm", "bubble", "mailbox wait",
                           "other", "comm hidden"})
    heads.push_back(number_cell(head));
  return table(heads, rows);
}

std::string edge_table(const trace::Analysis& analysis) {
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < std::min(top, analysis.edges.size()); ++i) {
    const trace::EdgeReport& edge = analysis.edges[i];
    rows.push_back(
        {{edge.sender + " \u2192 " + edge.receiver},
         {edge.message},
         number_cell(fmt::format("{}", edge.count)),
         ms_cell(ms(edge.queue_total) / static_cast<double>(std::max<std::int64_t>(edge.count, 1))),
         ms_cell(ms(edge.queue_max)),
         ms_cell(ms(edge.queue_total))});
  }
  return table({{"sender \u2192 receiver"},
                {"message"},
                number_cell("messages"),
                number_cell("mean ms"),
                number_cell("longest ms"),
                number_cell("total ms")},
               rows);
}

std::string actor_table(const trace::Analysis& analysis) {
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < std::min(top, analysis.actors.size()); ++i) {
    const trace::ActorReport& actor = analysis.actors[i];
    rows.push_back({{actor.actor}, number_cell(fmt::format("{}", actor.messages)), ms_cell(ms(actor.busy))});
  }
  return table({{"actor"}, number_cell("messages"), number_cell("busy ms")}, rows);
}

std::string of_ranks(const trace::Analysis& analysis) {
  if (analysis.ranks.empty())
    return hint("The trace has no training step: the job had nothing to train, or ended before its first.");
  const trace::StepReport& steps = analysis.steps;
  std::string html =
      paragraph(fmt::format("{} on {} traced: {:.3f} ms on average, median {:.3f} ms, the longest {:.3f} ms "
                            "(step {}, rank {}). Outside "
                            "of compute and collectives {:.1f} %, of which actors' own work {:.1f} %.",
                            counted(steps.count, "step"), counted(analysis.ranks.size(), "rank"),
                            ms(steps.mean), ms(steps.median), ms(steps.max), steps.max_step, steps.max_rank,
                            100 * analysis.outside_compute_and_collectives(), 100 * analysis.other_share()));
  html += "<div class=\"pair\">\n" + rank_bars(analysis) + rank_table(analysis) + "</div>\n";
  if (analysis.ranks.size() > ranks_max)
    html += paragraph(
        fmt::format("The first {} of {} ranks; d9d-node trace prints all.", ranks_max, analysis.ranks.size()),
        "soft");
  return html;
}

}  // namespace

std::string time_section(const TracedRun& traced) {
  if (!traced.recording) return section("time", "Where the time went", hint(traced.missing));
  const trace::Analysis& analysis = traced.analysis;
  std::string html = of_ranks(analysis);
  html += "<h3>Mailboxes: the longest waits from being sent to being handled</h3>\n";
  html += analysis.edges.empty() ? paragraph("No message waited.", "soft")
                                 : paragraph(what_to_do_with_mailboxes, "soft") + edge_table(analysis);
  html += "<h3>The busiest actors</h3>\n" + actor_table(analysis);
  if (analysis.lost > 0)
    html += paragraph(fmt::format("{} of earlier steps not in the trace: it keeps the last ones.",
                                  counted(analysis.lost, "span")),
                      "soft");
  return section("time", "Where the time went", html);
}

}  // namespace d9d::report
