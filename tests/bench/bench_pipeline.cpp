// Measured against theory: four ranks in one process run real Trainer, Loader, RankExecutor and Collective actors
// over stages that only sleep (F = I = W, 20 ms for a whole rank), 16 microbatches. A step of each schedule
// is compared with the simulator's makespan. Sleeps overrun by themselves, the more the busier the machine,
// so what actors and messages cost is also taken directly: how long after its inputs and its rank were there
// an action began (pipeline_gaps.hpp). Then the static beside the dynamic order where ranks are held up, and
// what two lanes of a rank cost and hide, on the host and on a device.
//   bench_pipeline [--steps N] [--milliseconds T] [--traced]
//                  [--only planning|lanes|schedules|orders|room] [--schedule NAME]
// prints one JSON object; a table goes to stderr.
// `chrt -f 10 bench_pipeline` keeps a busy machine from waking the sleepers late.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/bench/lane_cost.hpp"
#include "tests/bench/pipeline_gaps.hpp"
#include "tests/bench/planning_cost.hpp"
#include "tests/bench/sleep_world.hpp"
#include "tests/runtime/pipeline/order/order_bound.hpp"
#include "tests/runtime/pipeline/order/order_troubles.hpp"

namespace d9d {
namespace {

constexpr int bench_ranks = 4;
constexpr int bench_microbatches = 16;
constexpr std::uint64_t warmup_steps = 1;  // steps

struct BenchOptions {
  std::uint64_t steps = 5;
  double milliseconds = 20;
  bool traced = false;
  std::string only;      // empty: everything
  std::string schedule;  // empty: all; otherwise the one of this name

  bool wants(const char* part) const { return only.empty() || only == part; }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

SleepScenario scenario_of(const ScheduleConfig& schedule, const Trouble& trouble, const BenchOptions& bench,
                          std::uint64_t seed = 0) {
  const auto program = one_lane_program(schedule, bench_ranks, bench_microbatches);
  return {.program = program,
          .duration = troubled_durations(*program, trouble, 1e-3 * bench.milliseconds, 0, seed),
          .steps = warmup_steps + bench.steps,
          .traced = bench.traced};
}

// Seconds that a step takes with these sleeps and `overhead` more per action.
double makespan(const SleepScenario& scenario, double overhead = 0) {
  const OrderCosts costs{[&](const Action& action) { return scenario.duration(action) + overhead; }, 0};
  return simulate_order(*scenario.program, scenario.order, costs, scenario.extra_activations).makespan;
}

struct PipelineTimes {
  std::vector<double> span, overslept;  // seconds, by step; overslept: mean of the step's actions
  int actions = 0;                      // of a step
  PipelineGaps gaps;
};

PipelineTimes times_of(const SleepRun& run, const Topology& topology) {
  PipelineTimes times;
  for (std::size_t i = warmup_steps; i < run.steps.size(); ++i) {
    std::int64_t begin = INT64_MAX, end = 0, overslept = 0;
    times.actions = 0;
    for (const auto& [rank, actions] : run.steps[i]) {
      begin = std::min(begin, actions.front().begin_ns);
      end = std::max(end, actions.back().end_ns);
      for (const SleptAction& action : actions) overslept += action.overslept_ns;
      times.actions += static_cast<int>(actions.size());
    }
    times.span.push_back(1e-9 * static_cast<double>(end - begin));
    times.overslept.push_back(1e-9 * static_cast<double>(overslept) / times.actions);
    add_gaps(run.steps[i], topology, times.gaps);
  }
  return times;
}

nlohmann::json quantiles(std::vector<std::int64_t> gaps) {
  if (gaps.empty()) return nullptr;
  std::sort(gaps.begin(), gaps.end());
  const auto at = [&](double share) {
    return 1e-3 *
           static_cast<double>(gaps[static_cast<std::size_t>(share * static_cast<double>(gaps.size() - 1))]);
  };
  return {{"p50", at(0.5)}, {"p90", at(0.9)}, {"count", gaps.size()}};
}

std::vector<double> timed(const SleepRun& run) {
  return {run.step_seconds.begin() + warmup_steps, run.step_seconds.end()};
}

nlohmann::json against_theory(const NamedSchedule& schedule, const BenchOptions& bench) {
  const SleepScenario scenario = scenario_of(schedule.config, order_troubles(bench_ranks).front(), bench);
  const SleepRun run = run_sleeping(scenario);
  const PipelineTimes times = times_of(run, scenario.program->topology);
  const std::vector<double> steps = timed(run);
  const double bound = makespan(scenario);
  constexpr double probe = 1e-6;
  const double on_path = (makespan(scenario, probe) - bound) / probe;
  const double step = median(steps), span = median(times.span);
  return {
      {"schedule", schedule.name},
      {"makespan_ms", 1e3 * bound},
      {"step_ms", 1e3 * step},
      {"step_ms_min", 1e3 * *std::min_element(steps.begin(), steps.end())},
      {"step_ms_max", 1e3 * *std::max_element(steps.begin(), steps.end())},
      {"over_makespan_percent", 100 * (step / bound - 1)},
      {"actions", times.actions},
      {"actions_on_critical_path", on_path},
      {"us_per_action", 1e6 * (span - bound) / on_path},
      {"us_overslept_per_action", 1e6 * median(times.overslept)},
      {"us_gap_after_message", quantiles(times.gaps.message)},
      {"us_gap_after_own_action", quantiles(times.gaps.local)},
      {"us_per_step_outside_the_pipeline", 1e6 * (step - span)},
      {"cpu_us_per_action", 1e6 * run.cpu_seconds / (times.actions * static_cast<double>(scenario.steps))}};
}

// Means over several draws where chance decides who is held up.
nlohmann::json orders(const NamedSchedule& schedule, const Trouble& trouble, const BenchOptions& bench,
                      int extra_activations) {
  nlohmann::json row = {
      {"schedule", schedule.name}, {"trouble", trouble.name}, {"extra_activations", extra_activations}};
  const int draws = trouble.by_chance ? 4 : 1;
  const auto add = [&](const std::string& name, double seconds) {
    row[name] = row.value(name, 0.0) + 1e3 * seconds / draws;
  };
  for (int draw = 0; draw < draws; ++draw) {
    SleepScenario scenario = scenario_of(schedule.config, trouble, bench, static_cast<std::uint64_t>(draw));
    if (draws > 1) scenario.steps = warmup_steps + 1;
    scenario.extra_activations = extra_activations;
    add("bound_ms", order_bound(*scenario.program, {scenario.duration, 0}, extra_activations));
    for (const CursorOrder order : {CursorOrder::static_, CursorOrder::dynamic}) {
      scenario.order = order;
      const std::string name = order == CursorOrder::dynamic ? "dynamic" : "static";
      add(name + "_simulated_ms", makespan(scenario));
      add(name + "_step_ms", median(timed(run_sleeping(scenario))));
    }
  }
  row["dynamic_over_static"] = row["dynamic_step_ms"].get<double>() / row["static_step_ms"].get<double>();
  return row;
}

void print_table(const nlohmann::json& report) {
  fmt::print(stderr, "{:<38} {:>11} {:>11} {:>8} {:>10}\n", "schedule", "makespan ms", "step ms", "over",
             "sleeps over");
  for (const auto& row : report["schedules"]) {
    fmt::print(stderr, "{:<38} {:>11.1f} {:>11.1f} {:>7.2f}% {:>7.0f} us\n",
               row["schedule"].get<std::string>(), row["makespan_ms"].get<double>(),
               row["step_ms"].get<double>(), row["over_makespan_percent"].get<double>(),
               row["us_overslept_per_action"].get<double>());
  }
  fmt::print(stderr, "\n{:<38} {:<50} {:>8} {:>21} {:>21} {:>7}\n", "schedule", "held up", "bound ms",
             "static ms, simulated", "dynamic ms, simulated", "ratio");
  for (const char* part : {"orders", "orders_with_room"}) {
    for (const auto& row : report[part]) {
      const auto ms = [&row](const char* name) { return row[name].get<double>(); };
      fmt::print(stderr, "{:<38} {:<50} {:>8.0f} {:>12.1f} {:>8.0f} {:>12.1f} {:>8.0f} {:>7.3f}\n",
                 row["schedule"].get<std::string>(), row["trouble"].get<std::string>(), ms("bound_ms"),
                 ms("static_step_ms"), ms("static_simulated_ms"), ms("dynamic_step_ms"),
                 ms("dynamic_simulated_ms"), ms("dynamic_over_static"));
    }
  }
  fmt::print(stderr, "\nlanes: {}\nstreams: {}\nplanning: {}\n", report["lanes"].dump(),
             report["streams"].dump(), report["planning"].dump());
}

std::vector<NamedSchedule> chosen_schedules(const BenchOptions& bench) {
  std::vector<NamedSchedule> chosen;
  for (const NamedSchedule& schedule : bench_schedules()) {
    if (bench.schedule.empty() || bench.schedule == schedule.name) chosen.push_back(schedule);
  }
  return chosen;
}

int run(const BenchOptions& bench) {
  nlohmann::json report = {{"ranks", bench_ranks},
                           {"microbatches", bench_microbatches},
                           {"milliseconds", bench.milliseconds},
                           {"steps", bench.steps},
                           {"traced", bench.traced},
                           {"real_time", sched_getscheduler(0) == SCHED_FIFO},
                           {"planning", nlohmann::json::object()},
                           {"lanes", nlohmann::json::object()},
                           {"streams", nlohmann::json::object()},
                           {"schedules", nlohmann::json::array()},
                           {"orders", nlohmann::json::array()},
                           {"orders_with_room", nlohmann::json::array()}};
  if (bench.wants("planning")) report["planning"] = measure_planning(5);
  if (bench.wants("lanes")) {
    report["lanes"] = measure_lanes(5, 4, 5);
    report["streams"] = measure_streams(5, 4);
  }
  for (const NamedSchedule& schedule : chosen_schedules(bench)) {
    if (bench.wants("schedules")) report["schedules"].push_back(against_theory(schedule, bench));
  }
  for (const Trouble& trouble : order_troubles(bench_ranks)) {
    for (const NamedSchedule& schedule : chosen_schedules(bench)) {
      if (!has_choice(schedule.config)) continue;
      if (bench.wants("orders")) report["orders"].push_back(orders(schedule, trouble, bench, 0));
      if (bench.wants("room") && trouble.with_room) {
        report["orders_with_room"].push_back(orders(schedule, trouble, bench, 2));
      }
    }
  }
  print_table(report);
  std::cout << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace d9d

int main(int argc, char** argv) {
  d9d::BenchOptions bench;
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--traced") {
        bench.traced = true;
      } else if (word == "--steps" && i + 1 < argc) {
        bench.steps = std::stoull(argv[++i]);
      } else if (word == "--schedule" && i + 1 < argc) {
        bench.schedule = argv[++i];
      } else if (word == "--only" && i + 1 < argc) {
        bench.only = argv[++i];
      } else if (word == "--milliseconds" && i + 1 < argc) {
        bench.milliseconds = std::stod(argv[++i]);
      } else {
        std::cerr << "usage: bench_pipeline [--steps N] [--milliseconds T] [--traced] [--only "
                     "planning|lanes|schedules|orders|room] [--schedule NAME]\n";
        return 2;
      }
    }
    return d9d::run(bench);
  } catch (const std::exception& error) {
    std::cerr << "bench_pipeline: " << error.what() << "\n";
    return 1;
  }
}
