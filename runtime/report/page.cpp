#include "runtime/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/xml_text.hpp"
#include "runtime/report/chart/axis.hpp"
#include "runtime/report/chart/durations.hpp"
#include "runtime/report/html.hpp"
#include "runtime/report/numbers/recent.hpp"
#include "runtime/report/page_script.hpp"
#include "runtime/report/page_style.hpp"
#include "runtime/report/section/checkpoints_section.hpp"
#include "runtime/report/section/curves_section.hpp"
#include "runtime/report/section/job_section.hpp"
#include "runtime/report/section/pipeline_section.hpp"
#include "runtime/report/section/samples_section.hpp"
#include "runtime/report/section/time_section.hpp"
#include "runtime/report/traced_run.hpp"
#include "runtime/report/verdict.hpp"

namespace d9d::report {
namespace {

constexpr int recent_minutes = 5;

const char* class_of(Fate fate) {
  switch (fate) {
    case Fate::finished:
      return "finished";
    case Fate::failed:
      return "failed";
    case Fate::running:
      return "running";
    default:
      return "ended";
  }
}

std::string tile(const std::string& what, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", xml_text(what), xml_text(value));
}

double median_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Of a run that is at work.
std::string live_tiles(const RunFolder& run, double now) {
  std::string html;
  const auto total = total_steps(run);
  if (const auto left = total ? seconds_left(run.curves, last_step(run), *total) : std::nullopt) {
    html += tile("time left, about", duration_text(*left));
    html += tile("ends about", date_text(now + *left));
  }
  if (const auto loss = recent_loss(run.curves, recent_minutes * 60)) {
    html += tile(fmt::format("mean loss of the last {} min", recent_minutes),
                 short_number(loss->mean) +
                     (loss->before ? fmt::format(" ({} before)", short_number(*loss->before)) : ""));
  }
  return html;
}

std::string tiles(const RunFolder& run, const PageOptions& options) {
  std::string html;
  if (const Curve* loss = run.curves.find("loss")) {
    html += tile("loss, first \u2192 last",
                 short_number(loss->values.front()) + " \u2192 " + short_number(loss->values.back()));
  }
  if (const Curve* loss = run.curves.find("evaluation/loss"))
    html += tile("loss of the last evaluation", short_number(loss->values.back()));
  if (run.is_running && !options.is_asleep) html += live_tiles(run, options.now);
  html += tile("steps", fmt::format("{}", last_step(run)));
  if (const Curve* tokens = run.curves.find("tokens_total"))
    html += tile("tokens", short_number(tokens->values.back()));
  if (const Curve elapsed = elapsed_time(run); !elapsed.values.empty())
    html += tile("time of training", duration_text(elapsed.values.back()));
  if (const Curve* rate = run.curves.find("tokens_per_second"))
    html += tile("median tokens/s", short_number(median_of(rate->values)));
  if (const Curve* seconds = run.curves.find("step_seconds"))
    html += tile("median step", duration_text(median_of(seconds->values)));
  html += tile("checkpoints", fmt::format("{}", run.checkpoints.size()));
  return "<dl class=\"tiles\">\n" + html + "</dl>\n";
}

std::string button(const char* action, const char* text, const char* explained) {
  return fmt::format("<form method=\"post\" action=\"{}\"><button title=\"{}\">{}</button></form>\n", action,
                     explained, text);
}

// What a live page can be asked for.
std::string buttons(const PageOptions& options) {
  std::string html;
  if (options.asks_for_traces)
    html += button(trace_action, "Write a trace", "Of the last steps, into traces/ of the run");
  if (options.asks_for_sleep) {
    html += options.is_asleep ? button(wake_action, "Wake", "Take the memory again and go on")
                              : button(sleep_action, "Sleep",
                                       "After this step hand the memory of weights and optimizer back");
  }
  return html.empty() ? html : "<div class=\"actions\">\n" + html + "</div>\n";
}

std::string header(const RunFolder& run, const PageOptions& options) {
  Verdict verdict = verdict_of(run);
  if (options.is_asleep) verdict.word = "Asleep";
  std::string html = fmt::format("<h1>{}</h1>\n", xml_text(run.name));
  std::string place = std::filesystem::absolute(run.path).lexically_normal().string();
  if (!run.starts.empty())
    place += fmt::format(", first started {}, built as {}", date_text(run.starts.front().time),
                         run.starts.back().build);
  html += paragraph(place, "soft");
  html += fmt::format("<p class=\"verdict {}\"><b>{}</b>: {}.</p>\n", class_of(verdict.fate), verdict.word,
                      xml_text(verdict.detail));
  if (!verdict.reason.empty()) html += hint(verdict.reason);
  html += "<nav>";
  for (const auto& [id, name] :
       {std::pair{"curves", "Curves"}, std::pair{"time", "Time"}, std::pair{"pipeline", "Pipeline"},
        std::pair{"checkpoints", "Checkpoints"}, std::pair{"job", "Job"}})
    html += fmt::format("<a href=\"#{}\">{}</a>", id, name);
  if (run.has_log && !options.log.empty())
    html += fmt::format("<a href=\"{}\">Log</a>", xml_text(options.log));
  return html + "</nav>\n" + buttons(options) + tiles(run, options);
}

std::string other_traces(const RunFolder& run) {
  if (run.other_traces.empty()) return {};
  std::string html = "<ul>\n";
  for (const auto& path : run.other_traces)
    html += fmt::format("<li>{}</li>\n", xml_text(path.filename().string()));
  return section(
      "traces", "Other traces",
      paragraph(
          "Of earlier starts and of chosen steps: d9d-node trace FILE summarises each, Perfetto shows it.") +
          html + "</ul>\n");
}

// A server that answers with this page makes it anew each time.
std::string refresh(int seconds) {
  if (seconds == 0) return {};
  return fmt::format("<meta http-equiv=\"refresh\" content=\"{}\"/>\n", seconds);
}

}  // namespace

std::string report_page(const RunFolder& run, const PageOptions& options) {
  const TracedRun traced = read_trace(run);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n{}<title>{}: "
      "report</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n",
      refresh(options.refresh_seconds), xml_text(run.name), page_style());
  html += header(run, options) + curves_section(run) + samples_section(run) + time_section(traced);
  html += pipeline_section(traced, options.steps) + other_traces(run) + checkpoints_section(run) +
          job_section(run);
  html += fmt::format("<footer>Written {} by d9d-node {}.</footer>\n", date_text(options.now),
                      xml_text(options.build));
  return html + fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", page_script());
}

}  // namespace d9d::report
