// d9d-node lr: prints the learning rate of every step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>
#include <span>

#include "actors/cli/commands.hpp"
#include "actors/cli/job_options.hpp"
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

std::vector<double> columns_of(std::span<const double> values, std::size_t width) {
  const std::size_t count = std::min(width, values.size());
  std::vector<double> columns(count);
  for (std::size_t column = 0; column < count; ++column) {
    const std::size_t begin = column * values.size() / count;
    const std::size_t end = (column + 1) * values.size() / count;
    const auto part = values.subspan(begin, end - begin);
    columns[column] = std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size());
  }
  return columns;
}

// Draws the values with characters, the scale on the left. A column shows the mean of its values; the last line has the
// numbers of the first and the last.
std::string plot(std::span<const double> values) {
  constexpr std::size_t width = 72;
  constexpr int height = 12;
  if (values.empty()) return {};
  const std::vector<double> columns = columns_of(values, width);
  const auto [low_at, high_at] = std::minmax_element(columns.begin(), columns.end());
  const double low = std::min(0.0, *low_at);
  const double high = *high_at > low ? *high_at : low + 1.0;
  std::string text;
  for (int row = height - 1; row >= 0; --row) {
    const double level = low + (high - low) * row / (height - 1);
    std::string line;
    for (const double value : columns) {
      const auto at = static_cast<int>(std::lround((value - low) / (high - low) * (height - 1)));
      line += at == row ? '*' : ' ';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += fmt::format("{:>9.3g} |{}\n", level, line);
  }
  const std::string last = std::to_string(values.size() - 1);
  const auto room = std::max<std::size_t>(columns.size(), last.size() + 3);
  text += fmt::format("{:>9} +{}\n", "", std::string(columns.size(), '-'));
  return text + fmt::format("{:>9}  0{:>{}}\n", "step", last, room - 1);
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
           {"--svg", "FILE", "also draw the rates"},
           {"--json", "", "print {\"total_steps\", \"lr\", \"multipliers\": [...]}"}},
          print_rates,
          "Steps count from 0: the multiplier of step 0 is that of the first optimizer step.\n",
          {"lr job.yaml --svg lr.svg", "lr job.yaml --steps 1000 --json"}};
}

}  // namespace d9d
