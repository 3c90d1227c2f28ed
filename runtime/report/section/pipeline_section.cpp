#include "runtime/report/section/pipeline_section.hpp"

#include <fmt/format.h>

#include "runtime/base/error.hpp"
#include "runtime/report/chart/timeline.hpp"
#include "runtime/report/html.hpp"

namespace d9d::report {
namespace {

std::string drawn(const MeasuredStep& step, const std::string& which) {
  const double ratio = step.measured.makespan / step.simulated.makespan;
  std::string html = fmt::format("<h3>Step {}{}</h3>\n", step.step, which);
  html +=
      paragraph(fmt::format("Measured {:.3f} ms with a bubble of {:.1f} %; simulated {:.3f} ms with {:.1f} "
                            "%; measured / simulated {:.3f}.",
                            step.measured.makespan, 100 * step.measured.bubble, step.simulated.makespan,
                            100 * step.simulated.bubble, ratio));
  return html + "<div class=\"scroll\" tabindex=\"0\">\n" + timeline_svg(step, true) + "</div>\n";
}

std::string usual_steps(const TracedRun& traced) {
  const MeasuredStep last = measure_step(*traced.recording, {});
  std::string html = drawn(last, ", the last that the trace has whole");
  const int slowest = traced.analysis.steps.max_step;
  if (slowest == last.step || slowest < 1) return html;
  try {
    return html + drawn(measure_step(*traced.recording, slowest), ", the slowest");
  } catch (const Error& error) {
    return html +
           paragraph(fmt::format("The slowest step, {}, cannot be drawn: {}", slowest, error.what()), "soft");
  }
}

}  // namespace

std::string pipeline_section(const TracedRun& traced, const std::vector<int>& steps) {
  constexpr const char* heading = "Pipeline: measured above simulated";
  D9D_REQUIRE(steps.empty() || traced.recording, "--step {}: {}", steps.front(), traced.missing);
  if (!traced.recording)
    return section("pipeline", heading, hint("Drawn from the trace, and there is none."));
  std::string html;
  if (steps.empty()) {
    try {
      html = usual_steps(traced);
    } catch (const Error& error) {
      html = hint(error.what());
    }
  }
  for (const int step : steps) html += drawn(measure_step(*traced.recording, step), "");
  return section("pipeline", heading, html);
}

}  // namespace d9d::report
