// d9d-node lr: the learning rate of every step.
#include <fmt/format.h>

#include <ostream>

#include "actors/cli/commands.hpp"
#include "actors/cli/job_options.hpp"
#include "actors/cli/plot.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

double base_lr(const JobConfig& job) {
  const config::Json keys = config::encode(job.optimizer);
  return keys.contains("lr") && keys["lr"].is_number() ? keys["lr"].get<double>() : 1.0;
}

int print_rates(const Arguments& arguments, Console& console) {
  LoadedJob loaded = load_job(arguments, console);
  auto& total_steps = loaded.job.trainer.schedule.total_steps;
  if (const auto steps = arguments.integer("--steps", 1, 100'000'000)) total_steps = steps;
  D9D_REQUIRE(total_steps.has_value(),
              "the job runs as long as its data lasts; set trainer.schedule.total_steps or give --steps N");
  const auto schedule = build_lr(loaded.job);
  D9D_REQUIRE(schedule.has_value(), "lr_scheduler is a plugin's; only the built-in piecewise can be printed");

  std::vector<double> multipliers;
  for (std::int64_t step = 0; step < *total_steps; ++step) multipliers.push_back(schedule->multiplier(step));
  const double lr = base_lr(loaded.job);
  if (arguments.has("--json")) {
    console.out
        << config::Json{{"total_steps", *total_steps}, {"lr", lr}, {"multipliers", multipliers}}.dump()
        << "\n";
    return 0;
  }
  console.out << fmt::format("{:>8}  {:>12}  {:>12}\n", "step", "multiplier", "lr");
  for (std::size_t step = 0; step < multipliers.size(); ++step) {
    console.out << fmt::format("{:>8}  {:>12.6g}  {:>12.6g}\n", step, multipliers[step],
                               lr * multipliers[step]);
  }
  console.out << "\n" << plot(multipliers);
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
           {"--json", "", "print {\"total_steps\", \"lr\", \"multipliers\": [...]}"}},
          print_rates,
          "Steps count from 0: the multiplier of step 0 is that of the first optimizer step.\n"};
}

}  // namespace d9d
