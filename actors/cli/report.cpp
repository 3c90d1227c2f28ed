// d9d-node report: writes a run as one page of HTML.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ostream>

#include "actors/cli/running_commands.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/version.hpp"
#include "runtime/metric/progress.hpp"
#include "runtime/report/page.hpp"
#include "runtime/report/verdict.hpp"

namespace d9d {
namespace {

constexpr const char* usual_name = "report.html";

std::vector<int> chosen_steps(const Arguments& arguments) {
  std::vector<int> steps;
  for (const std::int64_t step : arguments.integers("--step", 1, std::numeric_limits<int>::max()))
    steps.push_back(static_cast<int>(step));
  return steps;
}

int write_report(const Arguments& arguments, Console& console) {
  PosixDisk disk;
  const std::string& directory = arguments.positional().front();
  const report::RunFolder run = report::look_at_run(disk, directory);
  const std::string page =
      report::report_page(run, {.steps = chosen_steps(arguments),
                                .now = 1e-9 * static_cast<double>(SystemClock().wall_ns()),
                                .build = build_id(),
                                .log = arguments.value("--out") ? "" : report::node_0_log});
  const std::string file = arguments.value("--out").value_or(join_path(directory, usual_name));
  write_text(disk, file, page);
  const report::Verdict verdict = report::verdict_of(run);
  console.out << fmt::format("{}: {}\nwrote {} ({})\n", verdict.word, verdict.detail, file,
                             size_text(page.size()));
  return 0;
}

}  // namespace

Command report_command() {
  return {
      .name = "report",
      .positional = "RUN_DIR",
      .summary = "write one page of HTML that shows a run: curves, time, pipeline, checkpoints, job",
      .positional_min = 1,
      .positional_max = 1,
      .options = {{"--out", "FILE", "where the page goes (RUN_DIR/report.html)"},
                  {"--step", "N",
                   "draw the pipeline of this step; without it of the last whole one and the slowest", true}},
      .run = write_report,
      .details =
          "RUN_DIR is a job's output_dir: runs/NAME without one. The page needs no network and no other "
          "file, follows\nthe reader's light or dark theme, and shows samples*.txt and samples/*.txt of "
          "the folder as generated text.\n",
      .examples = {"report runs/quickstart", "report runs/quickstart --out page.html --step 100 --step 101"}};
}

}  // namespace d9d
