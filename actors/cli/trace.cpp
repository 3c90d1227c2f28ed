// d9d-node trace: where a step's time went, from the traces of a run.
#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <ostream>

#include "actors/cli/commands.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/report/timeline.hpp"
#include "runtime/trace/analysis.hpp"
#include "runtime/trace/chrome_reader.hpp"

namespace d9d {
namespace {

int print_trace(const Arguments& arguments, Console& console) {
  std::vector<trace::LoadedTrace> traces;
  for (const std::string& file : arguments.positional()) traces.push_back(trace::read_chrome_trace(file));
  const trace::LoadedTrace all = trace::merge(traces);
  if (const auto folder = arguments.value("--for-profilers")) {
    const auto files = trace::export_for_profilers(all, *folder);
    console.err << fmt::format("wrote {} to {}\n", counted(files.size(), "file"), *folder);
  }
  if (const auto file = arguments.value("--timeline")) {
    const auto number = arguments.integer("--step", 0, std::numeric_limits<int>::max());
    const MeasuredStep step =
        measure_step(all.recording, number ? std::optional(static_cast<int>(*number)) : std::nullopt);
    std::ofstream svg(*file, std::ios::binary);
    svg << timeline_svg(step);
    svg.flush();
    if (!svg) throw Error(ErrorKind::environment, "cannot write " + *file);
    (arguments.has("--json") ? console.err : console.out) << timeline_text(step);
  }
  const trace::Analysis analysis = trace::analyze(all.recording);
  const auto top = static_cast<std::size_t>(arguments.integer("--top", 0, 1000000).value_or(10));
  const std::string text = arguments.has("--json") ? trace::to_json(analysis) : trace::to_text(analysis, top);
  console.out << text << (text.ends_with('\n') ? "" : "\n");
  return 0;
}

}  // namespace

Command trace_command() {
  return {"trace",
          "FILE...",
          "print where the time of a traced run went",
          1,
          1000000,
          {{"--json", "", "print JSON, durations in nanoseconds"},
           {"--top", "N", "show so many actors and edges (10)"},
           {"--timeline", "FILE", "draw what a step measured beside its simulation, as SVG"},
           {"--step", "N", "the step of --timeline (the last whole one)"},
           {"--for-profilers", "FOLDER",
            "also write a file per rank for tools that know PyTorch profiler files"}},
          print_trace};
}

}  // namespace d9d
