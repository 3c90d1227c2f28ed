// Times of actions are the device's: those that a test plants come back, and schedule `auto` finds with them what it
// finds where the host measured them.
#include "runtime/rank/measured/action_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "runtime/device/device.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/current.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/rank/rank_worker.hpp"
#include "tests/runtime/rank/delayed_case.hpp"

namespace d9d {
namespace {

using Kind = LoggedWork::Kind;
constexpr std::int64_t ms = 1'000'000;

// Of stages 0 and 1, and of a copy from one to the other.
std::int64_t planted_for(const Action& action) {
  static const std::map<ActionKind, std::int64_t> costs[2]{{{ActionKind::forward, 20 * ms},
                                                            {ActionKind::backward, 38 * ms},
                                                            {ActionKind::backward_input, 2 * ms},
                                                            {ActionKind::backward_weight, 40 * ms}},
                                                           {{ActionKind::forward, 30 * ms},
                                                            {ActionKind::backward, 44 * ms},
                                                            {ActionKind::backward_input, 20 * ms},
                                                            {ActionKind::backward_weight, 20 * ms}}};
  return costs[action.stage].at(action.kind);
}
constexpr std::int64_t copied = 6 * ms;

// Whatever the pieces of an action are, the first one on `compute` takes all of its time. The host takes none.
class PlantedActions {
 public:
  PlantedActions() {
    delayed::plant({.cost = [this](const delayed::Given& given) { return cost(given); },
                    .host_ns = [] { return 1000 * ms; }});
  }
  ~PlantedActions() { delayed::plant({}); }
  PlantedActions(const PlantedActions&) = delete;
  PlantedActions& operator=(const PlantedActions&) = delete;

 private:
  std::int64_t cost(const delayed::Given& given) {
    if (given.work == nullptr) return 0;  // freed memory is poisoned
    const std::string work = given.work->substr(0, given.work->find(','));
    if (given.place % delayed::num_streams != 0 || work.size() != 3) return 0;
    if (std::string(given.op) == "copy") return copied;
    return std::exchange(last_[given.place], work) == work ? 0 : planted_for(parse_action(work));
  }
  std::map<int, std::string> last_;  // by place
};

TEST(ActionTimes, OfAStepAreThoseThatWerePlanted) {
  for (const ScheduleConfig& schedule :
       {ScheduleConfig(OneFOneBSchedule{1}), ScheduleConfig(OneFOneBSchedule{1, true})}) {
    test::ParallelCase given = test::case_of({.pipeline_parallel = 2}, Qwen3Kind::dense, schedule);
    given.delayed = true;
    std::map<int, std::vector<LoggedWork>> all;
    std::mutex mutex;
    given.after_step = [&](int rank, RankWorker& worker) {
      const std::lock_guard lock(mutex);
      all[rank] = worker.work_log()->take_done();
    };
    const PlantedActions planted;

    test::train_once(given);

    ASSERT_EQ(all.size(), 2U);
    for (const auto& [rank, works] : all) {
      std::map<ActionKind, int> actions;
      int copies = 0;
      std::int64_t before = 0;
      for (const LoggedWork& work : works) {
        EXPECT_GE(work.begin_ns, before) << "one after the other";
        before = work.end_ns;
        const Action action = parse_action(work.name);
        if (work.kind == Kind::transfer) {
          ++copies;
          EXPECT_EQ(work.end_ns - work.begin_ns, copied) << work.name;
          continue;
        }
        ++actions[action.kind];
        EXPECT_EQ(work.stage, rank);
        const bool is_empty =
            action.stage == 0 && action.kind == ActionKind::backward_input;  // left to its W
        EXPECT_EQ(work.end_ns - work.begin_ns, is_empty ? 0 : planted_for(action)) << work.name;
      }
      EXPECT_EQ(actions.at(ActionKind::forward), 2);
      EXPECT_EQ(copies, 2) << "of activations to stage 1, of gradients to stage 0";
    }
    // The second stage computes 1F0 when stage 0 has computed it, and it has been copied.
    EXPECT_EQ(all[1].front().begin_ns, all[0].front().end_ns);
    EXPECT_EQ(all[1][1].begin_ns, all[0].front().end_ns + copied);
  }
}

bool overlap(const LoggedWork& one, const LoggedWork& other) {
  return one.begin_ns < other.end_ns && other.begin_ns < one.end_ns;
}

// Each piece takes a millisecond: units of layers are gathered beside the compute of those before.
TEST(ActionTimes, ShowCollectivesBesideComputeAndWhereItWaitsForThem) {
  for (const bool nccl : {false, true}) {
    test::ParallelCase given = test::case_of({.data_parallel_shard = 2});
    given.delayed = given.detailed = true;
    given.nccl = nccl;
    std::map<int, std::vector<LoggedWork>> all;
    std::mutex mutex;
    given.after_step = [&](int rank, RankWorker& worker) {
      const std::lock_guard lock(mutex);
      all[rank] = worker.work_log()->take_done();
    };
    delayed::plant({.cost = [](const delayed::Given&) { return ms; }, .host_ns = [] { return 1000 * ms; }});

    test::train_once(given);
    delayed::plant({});

    for (const auto& [rank, works] : all) {
      const auto some = [&](Kind kind, const auto& is) {
        return std::any_of(works.begin(), works.end(),
                           [&](const LoggedWork& work) { return work.kind == kind && is(work); });
      };
      const auto beside_compute = [&](const LoggedWork& work) {
        return some(Kind::compute, [&](const LoggedWork& other) { return overlap(work, other); });
      };
      EXPECT_TRUE(some(Kind::collective, beside_compute));
      EXPECT_TRUE(some(Kind::collective, [](const LoggedWork& work) { return work.bytes > 0; }));
      EXPECT_TRUE(some(Kind::stall, beside_compute)) << "inside of an action";
      for (const LoggedWork& work : works) {
        EXPECT_GE(work.end_ns, work.begin_ns) << work.name;
        EXPECT_EQ(work.stream == StreamRole::communicate, work.kind == Kind::collective) << work.name;
      }
    }
  }
}

AutoSchedule quick() {
  AutoSchedule schedule;
  schedule.measured_steps = 2;
  return schedule;
}

// Two ranks, whose steps are measured by the host or by their devices.
class Measured {
 public:
  std::shared_ptr<const PipelineProgram> run_step(bool on_devices) {
    const auto program = programs_[0].get(4);
    for (int rank = 0; rank < 2; ++rank) on_devices ? run_on_device(rank) : run_on_host(rank);
    std::vector<double> sums = programs_[0].finish_step();
    const std::vector<double> other = programs_[1].finish_step();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += other[i];
    for (StepPrograms& rank : programs_)
      if (!sums.empty()) rank.use_summed_costs(sums);
    return program;
  }

 private:
  const RankProgram& program(int rank) {
    return programs_[rank].get(4)->compute[static_cast<std::size_t>(rank)];
  }
  static bool brings_a_tensor(const Action& action) {
    return action.kind == ActionKind::forward
               ? action.stage == 1
               : action.kind != ActionKind::backward_weight && action.stage == 0;
  }

  void run_on_host(int rank) {
    for (const Instruction& instruction : program(rank)) {
      const Action& action = instruction.parts.front();
      programs_[rank].add_action_time(instruction, 1e-9 * static_cast<double>(planted_for(action)));
      if (brings_a_tensor(action))
        programs_[rank].add_transfer_time(action.kind != ActionKind::forward, action.stage,
                                          1e-9 * static_cast<double>(copied));
    }
  }

  void run_on_device(int rank) {
    const PlantedActions planted;
    const auto device = delayed_device(rank);
    delayed::Machine& machine = delayed::machine(rank);
    ActionTimes times(false, programs_[rank]);
    for (const Instruction& instruction : program(rank)) {
      const Action& action = instruction.parts.front();
      const std::string name = to_string(action);
      const WorkName work(name);
      if (brings_a_tensor(action)) {
        WorkTimer timer(&times.log(), *device, {.kind = Kind::transfer, .name = name});
        machine.enqueue(0, {"copy", {}}, [] {});
        timer.end();
      }
      WorkTimer timer(&times.log(), *device, {.name = name, .stage = action.stage});
      for (int i = 0; i < 3; ++i) machine.enqueue(0, {"work", {}}, [] {});
      timer.end();
    }
    device->record().wait("the step's end");
    RankOrder order(make_cursor(CursorOrder::static_, rank), [](const Action&) { return true; });
    times.end_step(order);
  }

  StepPrograms programs_[2] = {StepPrograms(quick(), 2), StepPrograms(quick(), 2)};
};

TEST(ActionTimes, LetAutoFindTheProgramThatItFindsOnTheCpu) {
  Measured host, device;
  std::shared_ptr<const PipelineProgram> by_host, by_device;
  for (int step = 0; step < 4; ++step) {
    by_host = host.run_step(false);
    by_device = device.run_step(true);
  }

  EXPECT_EQ(by_device->compute, by_host->compute);
}

TEST(ActionTimes, OfEvaluationsAreNotMeasured) {
  StepPrograms programs(quick(), 1);
  ActionTimes times(false, programs);
  const auto device = delayed_device(2);
  times.log().set_origin({.evaluation = true});
  WorkTimer timer(&times.log(), *device, {.name = "0F0", .stage = 0});
  timer.end();
  device->record().wait("a test");
  struct Cursor final : ActionCursor {
    void start(std::shared_ptr<const PipelineProgram>) override {}
    std::optional<Instruction> advance(const Ready&, double) override { return {}; }
    void set_mean_action(double) override { ADD_FAILURE() << "told"; }
    bool follow(const Instruction&, const Ready&) override { return true; }
    bool done() const override { return true; }
  };
  RankOrder order(std::make_unique<Cursor>(), [](const Action&) { return true; });

  times.end_step(order);

  EXPECT_EQ(times.log().take_done().size(), 1U) << "but seen";
}

}  // namespace
}  // namespace d9d
