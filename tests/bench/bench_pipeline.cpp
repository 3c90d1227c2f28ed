// What the actors cost per pipeline action: four ranks in one process run real Trainer, Loader, Stage and
// Collective actors over stages that only sleep (F = I = W, 20 ms for a whole rank), 16 microbatches. A step
// is compared with the simulator's makespan. Sleeps overrun by themselves, the more the busier the machine,
// so the cost of an action is also taken directly: how long after its inputs and its rank were there it
// began (pipeline_gaps.hpp).
//   bench_pipeline [--steps N] [--milliseconds T] [--traced]      prints one JSON object
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>

#include "actors/collective.hpp"
#include "actors/core/system.hpp"
#include "actors/loader.hpp"
#include "actors/stage.hpp"
#include "actors/trainer.hpp"
#include "messages/event.capnp.h"
#include "runtime/base/error.hpp"
#include "tests/bench/bench_support.hpp"
#include "tests/bench/fake_pipeline.hpp"
#include "tests/bench/pipeline_gaps.hpp"

namespace d9d {
namespace {

constexpr int kRanks = 4;
constexpr int kMicrobatches = 16;
constexpr std::uint64_t kWarmup = 1;  // steps
constexpr std::chrono::seconds kPatience{300};
constexpr ActorId kDirector{Role::node, 0};

struct BenchOptions {
  std::uint64_t steps = 5;
  double milliseconds = 20;
  bool traced = false;
};

struct Member {
  ActorId id;
  Threading threading;
  ActorFactory factory;
};

// Hears the events of rank 0, as the event bus does.
class Listener final : public Actor {
 public:
  using Actor::Actor;
  void behavior(Handlers& handlers) override { handlers.on(this, &Listener::publish); }
  void started() override {
    tell<wire::Ready>(parent(), [](wire::Ready::Builder) {});
  }
  void publish(wire::Publish::Reader /*message*/) {}
};

// Stands for node and tracker: spawns the ranks, starts them when all are ready, hears how long
// the steps took.
class Director final : public Actor {
 public:
  struct Options {
    std::vector<Member> members;
    std::promise<std::string>* ended = nullptr;  // empty text: all went well
    std::vector<double>* step_seconds = nullptr;
  };
  Director(World& world, Options options) : Actor(world), options_(std::move(options)) {}
  void behavior(Handlers& handlers) override {
    handlers.on(this, &Director::ready);
    handlers.on(this, &Director::step_finished);
    handlers.on(this, &Director::rank_finished);
    handlers.on(this, &Director::failed);
  }
  void started() override {
    answer_to({Role::tracker, 0});
    for (Member& member : options_.members) spawn(member.id, member.threading, std::move(member.factory));
  }
  void ready(wire::Ready::Reader /*message*/) {
    if (++ready_ < options_.members.size()) return;
    for (int rank = 0; rank < kRanks; ++rank) {
      tell<wire::StartTraining>({Role::trainer, static_cast<std::uint64_t>(rank)},
                                [](wire::StartTraining::Builder start) { start.setFirstStep(1); });
    }
  }
  void step_finished(wire::StepFinished::Reader message) {
    options_.step_seconds->push_back(message.getStepSeconds());
  }
  void rank_finished(wire::RankFinished::Reader /*message*/) {
    if (++finished_ == kRanks) end("");
  }
  void failed(wire::Failed::Reader message) { end(message.getText()); }

 private:
  void end(const std::string& failure) {
    if (std::exchange(ended_, true)) return;
    options_.ended->set_value(failure);
  }
  Options options_;
  std::size_t ready_ = 0;
  int finished_ = 0;
  bool ended_ = false;
};

struct Rig {
  BenchOptions bench;
  std::shared_ptr<const PipelineProgram> program;
  SleepCosts costs;
  TensorTable table{4096};
  SleepLog log;
  MeetingPlace meeting{kRanks};
  std::uint64_t total_steps() const { return kWarmup + bench.steps; }
};

std::vector<Member> members_of(Rig& rig, int rank) {
  const auto at = [rank](Role role) { return ActorId{role, static_cast<std::uint64_t>(rank)}; };
  const ActorId collective = collective_id(rank, 0);
  const int stages = rig.program->topology.num_stages();
  StageOptions stage{
      .rank = rank, .make_worker = [&rig, rank] {
        return make_sleep_stage(
            {.rank = rank, .program = rig.program, .costs = rig.costs, .table = &rig.table, .log = &rig.log});
      }};
  for (int i = 0; i < stages; ++i) stage.rank_of_stage.push_back(rig.program->topology.rank_of(i));
  TrainerOptions trainer{.rank = rank,
                         .world_size = kRanks,
                         .total_steps = rig.total_steps(),
                         .lr_multiplier = [](std::uint64_t) { return 1.0; },
                         .max_norm = std::nullopt,
                         .checkpoint_due = [](std::uint64_t) { return false; },
                         .metrics_due = [](std::uint64_t) { return false; },
                         .temporary_checkpoint_dir = [](std::uint64_t) { return std::string(); },
                         .make_inputs = [&rig] { return make_empty_inputs(kMicrobatches, rig.table); },
                         .task_state = [] { return std::string("{}"); },
                         .world_collective = collective};
  const std::function<std::unique_ptr<BatchFeed>()> feed = [&rig] {
    return make_empty_feed(kMicrobatches, rig.table);
  };
  return {{at(Role::stage), Threading::own_thread, factory_of<Stage>(std::move(stage))},
          {at(Role::trainer), Threading::pool, factory_of<Trainer>(std::move(trainer))},
          {at(Role::loader), Threading::own_thread, factory_of<Loader>(feed)},
          {collective, Threading::own_thread,
           factory_of<Collective>(Collective::Options{make_meeting_worker(rig.meeting)})}};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

// Seconds that the program takes with these sleeps and `overhead` more per action.
double makespan(const Rig& rig, double overhead) {
  const StageCosts costs{rig.costs.forward, rig.costs.backward_input, rig.costs.backward_weight};
  const Topology& topology = rig.program->topology;
  const CostModel model{
      .stages = std::vector<StageCosts>(static_cast<std::size_t>(topology.num_stages()), costs),
      .overhead = overhead};
  return simulate(rig.program->compute, topology, model).makespan;
}

struct PipelineTimes {
  std::vector<double> span, overslept;  // seconds, by step; overslept: mean of the step's actions
  int actions = 0;                      // of a step
  PipelineGaps gaps;
};

PipelineTimes times_of(const Rig& rig) {
  PipelineTimes times;
  const auto steps = rig.log.steps();
  for (std::size_t i = kWarmup; i < steps.size(); ++i) {
    std::int64_t begin = INT64_MAX, end = 0, overslept = 0;
    times.actions = 0;
    for (const auto& [rank, actions] : steps[i]) {
      begin = std::min(begin, actions.front().begin_ns);
      end = std::max(end, actions.back().end_ns);
      for (const SleptAction& action : actions) overslept += action.overslept_ns;
      times.actions += static_cast<int>(actions.size());
    }
    times.span.push_back(1e-9 * static_cast<double>(end - begin));
    times.overslept.push_back(1e-9 * static_cast<double>(overslept) / times.actions);
    add_gaps(steps[i], rig.program->topology, times.gaps);
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

nlohmann::json evaluate(const Rig& rig, const std::vector<double>& step_seconds, double cpu) {
  const PipelineTimes times = times_of(rig);
  const std::vector<double> timed(step_seconds.begin() + kWarmup, step_seconds.end());
  const double bound = makespan(rig, 0);
  constexpr double probe = 1e-6;
  const double on_path = (makespan(rig, probe) - bound) / probe;
  const double step = median(timed), span = median(times.span);
  return {{"makespan_ms", 1e3 * bound},
          {"step_ms", 1e3 * step},
          {"step_ms_min", 1e3 * *std::min_element(timed.begin(), timed.end())},
          {"step_ms_max", 1e3 * *std::max_element(timed.begin(), timed.end())},
          {"over_makespan_percent", 100 * (step / bound - 1)},
          {"actions", times.actions},
          {"actions_on_critical_path", on_path},
          {"us_per_action", 1e6 * (span - bound) / on_path},
          {"us_overslept_per_action", 1e6 * median(times.overslept)},
          {"us_gap_after_message", quantiles(times.gaps.message)},
          {"us_gap_after_own_action", quantiles(times.gaps.local)},
          {"us_per_step_outside_the_pipeline", 1e6 * (step - span)},
          {"cpu_us_per_action", 1e6 * cpu / (times.actions * static_cast<double>(rig.total_steps()))}};
}

nlohmann::json run_schedule(const ScheduleConfig& schedule, const BenchOptions& bench) {
  const double per_action = 1e-3 * bench.milliseconds / stages_per_rank(schedule);
  Rig rig{.bench = bench,
          .program = std::make_shared<const PipelineProgram>(build_program(schedule, kRanks, kMicrobatches)),
          .costs = {per_action, per_action, per_action}};
  const SystemClock clock;
  trace::Recorder recorder;
  World world{.clock = clock, .recorder = bench.traced ? &recorder : nullptr};
  ActorSystem system(world, {});
  std::promise<std::string> ended;
  std::vector<double> step_seconds;
  Director::Options director{.ended = &ended, .step_seconds = &step_seconds};
  director.members.push_back(
      {{Role::event_bus, 0}, Threading::pool, [](World& w) { return std::make_unique<Listener>(w); }});
  for (int rank = 0; rank < kRanks; ++rank) {
    for (Member& member : members_of(rig, rank)) director.members.push_back(std::move(member));
  }
  std::vector<ActorId> ids{kDirector};
  for (const Member& member : director.members) ids.push_back(member.id);
  const double cpu_begin = cpu_seconds();
  system.spawn_root(kDirector, Threading::pool,
                    [&](World& w) { return std::make_unique<Director>(w, std::move(director)); });
  auto future = ended.get_future();
  if (future.wait_for(kPatience) != std::future_status::ready) {
    throw Error(ErrorKind::environment, "the sleeping pipeline did not end");
  }
  const std::string failure = future.get();
  const double cpu = cpu_seconds() - cpu_begin;
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) stop_actor(world, *id);
  system.await_all(kPatience);
  D9D_CHECK(failure.empty(), "{}", failure);
  return evaluate(rig, step_seconds, cpu);
}

int run(const BenchOptions& bench) {
  const std::pair<const char*, ScheduleConfig> schedules[] = {
      {"gpipe", GpipeSchedule{}},
      {"1f1b", OneFOneBSchedule{}},
      {"1f1b, zero bubble", OneFOneBSchedule{.zero_bubble = true}},
      {"1f1b, 2 stages per rank", OneFOneBSchedule{.num_stages_per_rank = 2}},
      {"zero_bubble_v", ZeroBubbleVSchedule{}},
      {"dual_pipe_v", DualPipeVSchedule{}}};
  nlohmann::json report = {{"ranks", kRanks},
                           {"microbatches", kMicrobatches},
                           {"milliseconds", bench.milliseconds},
                           {"steps", bench.steps},
                           {"traced", bench.traced}};
  for (const auto& [name, schedule] : schedules) {
    nlohmann::json row = run_schedule(schedule, bench);
    row["schedule"] = name;
    report["schedules"].push_back(std::move(row));
  }
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
      } else if (word == "--milliseconds" && i + 1 < argc) {
        bench.milliseconds = std::stod(argv[++i]);
      } else {
        std::cerr << "usage: bench_pipeline [--steps N] [--milliseconds T] [--traced]\n";
        return 2;
      }
    }
    return d9d::run(bench);
  } catch (const std::exception& error) {
    std::cerr << "bench_pipeline: " << error.what() << "\n";
    return 1;
  }
}
