// d9d-node schedule: see runtime/pipeline/schedule_command.hpp.
#include <fstream>
#include <ostream>

#include "actors/cli_commands.hpp"
#include "runtime/base/error.hpp"
#include "runtime/pipeline/schedule_command.hpp"

namespace d9d {
namespace {

constexpr std::int64_t count_max = 100000;

int run(const Arguments& arguments, Console& console) {
  ScheduleCommandOptions options;
  const auto name = arguments.value("--schedule");
  D9D_REQUIRE(name.has_value(), "--schedule is missing; give a name, for example --schedule 1f1b");
  options.schedule.schedule = *name;
  if (const auto stages = arguments.integer("--stages-per-rank", 1, count_max)) {
    options.schedule.num_stages_per_rank = static_cast<int>(*stages);
  }
  if (arguments.has("--zero-bubble")) options.schedule.zero_bubble = true;
  options.schedule.warmup = arguments.value("--warmup");
  options.ranks = static_cast<int>(arguments.required_integer("--pp", 1, count_max));
  options.microbatches = static_cast<int>(arguments.required_integer("--microbatches", 1, count_max));
  options.transfer = arguments.number("--transfer").value_or(0);
  options.json = arguments.has("--json");

  const ScheduleCommandResult result = run_schedule_command(options);
  if (const auto file = arguments.value("--svg")) {
    std::ofstream svg(*file, std::ios::binary);
    svg << result.svg;
    svg.flush();
    if (!svg) throw Error(ErrorKind::environment, "cannot write " + *file);
  }
  console.out << result.text;
  return 0;
}

}  // namespace

Command schedule_command() {
  return {"schedule",
          "",
          "print, simulate and draw a pipeline schedule",
          0,
          0,
          {{"--schedule", "NAME", "gpipe, looped_bfs, 1f1b, zero_bubble_v, dual_pipe_v or inference"},
           {"--pp", "P", "pipeline ranks"},
           {"--microbatches", "N", "microbatches of a step"},
           {"--stages-per-rank", "V", "stages of each rank (looped_bfs, 1f1b)"},
           {"--zero-bubble", "", "split backwards (1f1b)"},
           {"--warmup", "DEPTH", "textbook, or deep as the original does (1f1b)"},
           {"--transfer", "T", "time of a transfer between ranks, in forwards of a rank"},
           {"--svg", "FILE", "also draw it"},
           {"--json", "", "print JSON"}},
          run};
}

}  // namespace d9d
