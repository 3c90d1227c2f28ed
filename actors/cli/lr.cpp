// d9d-node lr: prints the learning rate of every step.
#include <fmt/format.h>

#include <ostream>

#include "actors/cli/commands.hpp"
#include "actors/cli/job_options.hpp"
#include "actors/cli/view/plot.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/plugin/builtins.hpp"
#include "runtime/plugin/plugin_library.hpp"
#include "runtime/report/chart/line_chart.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {
namespace {

// The chart of the curve; steps count from 0, as in the table.
report::LineChart chart_of(const std::vector<double>& multipliers, double lr) {
  report::Curve curve{"learning rate", {}, {}};
  for (std::size_t i = 0; i < multipliers.size(); ++i) {
    curve.steps.push_back(static_cast<double>(i));
    curve.values.push_back(lr * multipliers[i]);
  }
  report::LineChart chart{.title = "Learning rate", .from_zero = true, .never_logarithmic = true};
  chart.lines.push_back(std::move(curve));
  return chart;
}

int print_rates(const Arguments& arguments, Console& console) {
  LoadedJob loaded = load_job(arguments, console);
  D9D_REQUIRE(!loaded.job.inference,
              "a job with the section `inference` has no learning rate: nothing trains in it");
  auto& total_steps = loaded.job.trainer.schedule.total_steps;
  if (const auto steps = arguments.integer("--steps", 1, 100'000'000)) total_steps = steps;
  D9D_REQUIRE(total_steps.has_value(),
              "the job runs as long as its data lasts; set trainer.schedule.total_steps or give --steps N");
  PosixDisk disk;
  Registry registry = builtin_registry(loaded, disk);
  for (const std::string& plugin : loaded.job.plugins) load_plugin(plugin, registry);
  const auto schedule = make_lr_schedule(registry, loaded.job);
  const auto multiplier = step_multiplier(*schedule, static_cast<std::uint64_t>(*total_steps));

  std::vector<double> multipliers;
  for (std::int64_t step = 1; step <= *total_steps; ++step)
    multipliers.push_back(multiplier(static_cast<std::uint64_t>(step)));
  const double lr = base_learning_rate(*make_optimizer(registry, loaded.job));
  if (const auto file = arguments.value("--svg"))
    write_text(disk, *file, line_chart_svg(chart_of(multipliers, lr)));
  if (arguments.has("--json")) {
    console.out << json_text(
                       config::Json{{"total_steps", *total_steps}, {"lr", lr}, {"multipliers", multipliers}})
                << "\n";
    return 0;
  }
  console.out << fmt::format("{:>8}  {:>12}  {:>12}\n", "step", "multiplier", "lr");
  for (std::size_t step = 0; step < multipliers.size(); ++step) {
    console.out << fmt::format("{:>8}  {:>12.6g}  {:>12.6g}\n", step, multipliers[step],
                               lr * multipliers[step]);
  }
  console.out << "\n" << plot(multipliers, "step");
  return 0;
}

}  // namespace

Command lr_command() {
  return {"lr",
          "JOB.yaml",
          "print the learning-rate multiplier of every step, and plot it",
          1,
          1,
          {set_option(),
           {"--steps", "N", "length of the run, instead of trainer.schedule.total_steps"},
           {"--svg", "FILE", "also draw the rates"},
           {"--json", "", "print {\"total_steps\", \"lr\", \"multipliers\": [...]}"}},
          print_rates,
          "Steps count from 0: the multiplier of step 0 is that of the first optimizer step.\n",
          {"lr job.yaml --svg lr.svg", "lr job.yaml --steps 1000 --json"}};
}

}  // namespace d9d
