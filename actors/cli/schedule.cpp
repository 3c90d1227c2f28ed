// d9d-node schedule: see runtime/pipeline/simulated/schedule_command.hpp.
#include <fstream>
#include <iterator>
#include <ostream>

#include "actors/cli/commands.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/job/section/pipeline_schedule_config.hpp"
#include "runtime/pipeline/simulated/schedule_command.hpp"
#include "runtime/plugin/plugin_library.hpp"
#include "runtime/plugin/registry.hpp"

namespace d9d {
namespace {

constexpr std::int64_t count_max = 100000;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  D9D_REQUIRE(file.good(), "--program: cannot read {}; give a file with a line of actions per rank", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<int> count(const Arguments& arguments, const char* option) {
  const auto given = arguments.integer(option, 1, count_max);
  return given ? std::optional(static_cast<int>(*given)) : std::nullopt;
}

template <class Enum>
void take_name(const Arguments& arguments, const char* option, Enum& out) {
  const auto given = arguments.value(option);
  if (!given) return;
  config::Node name{.kind = config::Node::Kind::scalar, .text = *given, .mark = {}};
  config::Problems problems;
  out = config::decode<Enum>(name, problems, option);
  if (!problems.errors().empty()) {
    const config::Problem& problem = problems.errors().front();
    throw Error(ErrorKind::input, fmt::format("{} {}; {}", option, problem.what, problem.remedy));
  }
}

// Sets the fields of the schedule. An option for a field that the schedule lacks is an input error.
class TakeOptions {
 public:
  TakeOptions(const Arguments& arguments, int stages) : arguments_(arguments), stages_(stages) {}

  void operator()(OwnSchedule&) const {}  // schedule_of_plugin() makes it
  template <class Schedule>
  void operator()(Schedule& schedule) const {
    take_stages(schedule);
    constexpr std::string_view name = Schedule::name;
    if constexpr (requires { schedule.zero_bubble; }) {
      schedule.zero_bubble = arguments_.has("--zero-bubble");
    } else {
      refuse(name, "--zero-bubble", OneFOneBSchedule::name);
    }
    if constexpr (requires { schedule.warmup; }) {
      take_name(arguments_, "--warmup", schedule.warmup);
    } else {
      refuse(name, "--warmup", OneFOneBSchedule::name);
    }
    if constexpr (requires { schedule.topology; }) {
      take_name(arguments_, "--topology", schedule.topology);
      schedule.activations_max = count(arguments_, "--activations-max");
    } else {
      refuse(name, "--topology", AutoSchedule::name);
      refuse(name, "--activations-max", AutoSchedule::name);
    }
  }

 private:
  template <class Schedule>
  void take_stages(Schedule& schedule) const {
    const int given = count(arguments_, "--stages-per-rank").value_or(stages_);
    if constexpr (requires { schedule.num_stages_per_rank; }) {
      schedule.num_stages_per_rank = given;
    } else {
      D9D_REQUIRE(given == stages_,
                  "schedule {} always has {} stage(s) per rank; --stages-per-rank is {}, leave it out",
                  Schedule::name, stages_, given);
    }
  }
  void refuse(std::string_view schedule, const char* option, std::string_view owner) const {
    D9D_REQUIRE(!arguments_.has(option), "schedule {} has no {}; only {} has", schedule, option, owner);
  }

  const Arguments& arguments_;
  const int stages_;  // the schedule's default
};

// `--schedule` as in a job file: a name, or a section of YAML with the plugin's keys.
ScheduleConfig schedule_of_plugin(const Arguments& arguments, const std::string& text) {
  for (const char* option :
       {"--stages-per-rank", "--zero-bubble", "--warmup", "--topology", "--activations-max"}) {
    D9D_REQUIRE(!arguments.has(option),
                "{} is for the schedules of d9d; a plugin's has its keys in --schedule '{{schedule: NAME, "
                "KEY: VALUE}}'",
                option);
  }
  Registry registry;
  for (const std::string& plugin : arguments.values("--plugin")) load_plugin(plugin, registry);
  OwnSchedule schedule = config::decode<OwnSchedule>({config::parse(text, "--schedule"), "--schedule"});
  schedule.made = registry.make_schedule(schedule.name, schedule.options);
  return schedule;
}

ScheduleConfig schedule_of(const Arguments& arguments) {
  const auto name = arguments.value("--schedule");
  D9D_REQUIRE(name.has_value(), "--schedule is missing; give a name, for example --schedule 1f1b");
  if (arguments.has("--plugin")) return schedule_of_plugin(arguments, *name);
  ScheduleConfig schedule = schedule_named(*name);
  std::visit(TakeOptions(arguments, stages_per_rank(schedule)), schedule);
  return schedule;
}

// True if no option sets the stages of a rank or something that depends on them.
bool leaves_stages_open(const Arguments& arguments) {
  return !arguments.has("--stages-per-rank") && !arguments.has("--topology") &&
         !arguments.has("--activations-max") && !arguments.has("--costs");
}

int print_schedule(const Arguments& arguments, Console& console) {
  ScheduleCommandOptions options;
  if (const auto file = arguments.value("--program")) {
    for (const char* option : {"--schedule", "--plugin", "--pp", "--microbatches"}) {
      D9D_REQUIRE(!arguments.has(option),
                  "{} has no effect beside --program, whose file says it; leave it out", option);
    }
    options.program = text_of(*file);
    D9D_REQUIRE(options.program.find_first_not_of(" \t\r\n") != std::string::npos,
                "--program: {} is empty; give a file with a line of actions per rank, 0F0 0F1 0B0 ...",
                *file);
  } else {
    options.schedule = schedule_of(arguments);
    options.chooses_stages = leaves_stages_open(arguments);
    options.ranks = static_cast<int>(arguments.required_integer("--pp", 1, count_max));
    options.microbatches = static_cast<int>(arguments.required_integer("--microbatches", 1, count_max));
  }
  options.costs = arguments.value("--costs").value_or("");
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
  return {
      "schedule",
      "",
      "print, simulate and draw a pipeline schedule",
      0,
      0,
      {{"--schedule", "NAME",
        "gpipe, looped_bfs, 1f1b, zero_bubble_v, dual_pipe_v, auto or inference; with --plugin the name "
        "of its own, or {schedule: NAME, KEY: VALUE}"},
       {"--plugin", "LIB.so", "a library that registers the schedule", true},
       {"--program", "FILE", "a program of your own instead: a line of actions per rank, 0F0 0F1 0B0 ..."},
       {"--pp", "P", "pipeline ranks"},
       {"--microbatches", "N", "microbatches of a step"},
       {"--stages-per-rank", "V",
        "stages of each rank (looped_bfs, 1f1b; auto: without it 1, or 2 on a v if that is faster)"},
       {"--zero-bubble", "", "split backwards (1f1b)"},
       {"--warmup", "textbook|deep", "deep: as the original does (1f1b)"},
       {"--topology", "loop|v", "how stages are laid over ranks (auto)"},
       {"--activations-max", "N",
        "stage-microbatches a rank may hold until their weight gradients are done (auto)"},
       {"--costs", "F:I:W[:B],...", "times of a microbatch, for all stages or for each"},
       {"--transfer", "T", "time of a transfer between ranks, in forwards of a rank or as --costs"},
       {"--svg", "FILE", "also draw it"},
       {"--json", "", "print JSON"}},
      print_schedule,
      {},
      {"schedule --schedule 1f1b --pp 4 --microbatches 8 --svg 1f1b.svg",
       "schedule --schedule auto --pp 4 --microbatches 8 --costs 1:1:1,1:1:1,1:1:1,2:2:2",
       "schedule --plugin ./libmine.so --schedule in_order --pp 4 --microbatches 8 --svg mine.svg"}};
}

}  // namespace d9d
