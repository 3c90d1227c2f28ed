// d9d-node trace: shows where a step's time went, from the traces of a run.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <ostream>

#include "actors/cli/commands.hpp"
#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/report/chart/timeline.hpp"
#include "runtime/trace/analysis.hpp"
#include "runtime/trace/comparison.hpp"
#include "runtime/trace/file/chrome_reader.hpp"
#include "runtime/trace/steps/slow_step.hpp"

namespace d9d {
namespace {

std::optional<int> chosen_step(const Arguments& arguments) {
  const auto number = arguments.integer("--step", 0, std::numeric_limits<int>::max());
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

// Reads a trace file; of a run's folder, the newest trace in it.
trace::LoadedTrace read_trace(const std::string& given) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(given)) return trace::read_chrome_trace(given);
  for (const fs::path& file : {fs::path(given) / "traces/trace.json.gz", fs::path(given) / "trace.json.gz"}) {
    if (fs::exists(file)) return trace::read_chrome_trace(file.string());
  }
  throw Error(ErrorKind::input,
              fmt::format("{} is a folder without traces/trace.json.gz: a run writes it when it ends, unless "
                          "node.trace is false; give the output_dir of such a run, or a file",
                          given));
}

void print_why(const trace::Recording& recording, std::optional<int> step, std::size_t top, bool json,
               Console& console) {
  const trace::SlowStep slow = trace::explain_step(recording, step);
  const std::string text = json ? trace::to_json(slow) : trace::to_text(slow, top);
  console.out << text << (text.ends_with('\n') ? "" : "\n");
}

int print_trace(const Arguments& arguments, Console& console) {
  std::vector<trace::LoadedTrace> traces;
  for (const std::string& file : arguments.positional()) traces.push_back(read_trace(file));
  const trace::LoadedTrace all = trace::merge(traces);
  const std::optional<int> step = chosen_step(arguments);
  if (const auto folder = arguments.value("--for-profilers")) {
    const auto files = trace::export_for_profilers(all, *folder);
    console.err << fmt::format("wrote {} to {}\n", counted(files.size(), "file"), *folder);
  }
  if (const auto file = arguments.value("--timeline")) {
    const MeasuredStep measured = measure_step(all.recording, step);
    std::ofstream svg(*file, std::ios::binary);
    svg << timeline_svg(measured);
    svg.flush();
    if (!svg) throw Error(ErrorKind::environment, "cannot write " + *file);
    (arguments.has("--json") ? console.err : console.out) << timeline_text(measured);
  }
  const auto top = static_cast<std::size_t>(arguments.integer("--top", 0, 1000000).value_or(10));
  if (arguments.has("--why")) {
    print_why(all.recording, step, top, arguments.has("--json"), console);
    return 0;
  }
  const trace::Analysis analysis = trace::analyze(all.recording);
  if (const auto file = arguments.value("--against")) {
    console.out << trace::compare(analysis, trace::analyze(read_trace(*file).recording), top);
    return 0;
  }
  const std::string text = arguments.has("--json") ? trace::to_json(analysis) : trace::to_text(analysis, top);
  console.out << text << (text.ends_with('\n') ? "" : "\n");
  return 0;
}

}  // namespace

Command trace_command() {
  return {"trace",
          "FILE|RUN_DIR...",
          "print where the time of a traced run went",
          1,
          1000000,
          {{"--json", "", "print JSON, durations in nanoseconds"},
           {"--top", "N", "show so many actors and edges (10)"},
           {"--why", "", "say why a step took so long: its critical path beside that of a usual step"},
           {"--against", "FILE|RUN_DIR", "compare with the trace of another run, per step"},
           {"--timeline", "FILE", "draw what a step measured beside its simulation, as SVG"},
           {"--step", "N", "the step of --why (the longest) or --timeline (the last whole one)"},
           {"--for-profilers", "FOLDER",
            "also write a file per rank for tools that know PyTorch profiler files"}},
          print_trace,
          {},
          {"trace runs/quickstart", "trace trace.json.gz --why --step 12",
           "trace new.json.gz --against old.json.gz"}};
}

}  // namespace d9d
