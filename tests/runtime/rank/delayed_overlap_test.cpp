// Reference PIPE-14: composed actions whose parts are on two compute streams of a device. The bits are those
// without, the hosts wait as often, each stage stays on its stream, and a step takes the simulator's time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "runtime/base/clock.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/work_log.hpp"
#include "runtime/devices/delayed/current.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/devices/delayed/nccl/emulated.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/pipeline/simulated/simulator.hpp"
#include "runtime/rank/rank_worker.hpp"
#include "tests/runtime/rank/delayed_case.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/meshes.hpp"

namespace d9d::test {
namespace {

using Mesh = DeviceMeshParameters;
constexpr std::int64_t ms = 1'000'000;

ParallelCase composed_case(const Mesh& mesh, Qwen3Kind kind = Qwen3Kind::dense,
                           ScheduleConfig schedule = DualPipeVSchedule{}) {
  ParallelCase given = case_of(mesh, kind, std::move(schedule));
  given.model.num_hidden_layers = 4;
  given.microbatches = 4;
  if (mesh.data_parallel() > 2) given.batch = tiny_batch(given.model, 16);
  given.overlap = Overlap::always;
  return given;
}

// Within a process, by NCCL's table, and with two ranks on a device.
enum class Joined { local, nccl, shared };

// How often hosts have waited, by place. Without the waits for what experts get, of which some find it done: at most
// one for each layer, microbatch and rank.
HostWaits::Counts waits_of(const ParallelCase& given) {
  HostWaits::Counts waits = HostWaits::take();
  const auto of_experts = waits.extract({"F", "counts of tokens"});
  const auto most = given.mesh.expert_parallel > 1
                        ? given.model.num_hidden_layers * given.microbatches * given.mesh.stage_size()
                        : 0;
  EXPECT_LE(of_experts.empty() ? 0 : of_experts.mapped(), static_cast<std::uint64_t>(most));
  return waits;
}

void expect_bits_with_overlap(ParallelCase given,
                              const std::vector<Joined>& ways = {Joined::local, Joined::nccl}) {
  SCOPED_TRACE(text_of(given.mesh));
  given.overlap = Overlap::never;
  const Trained expected = train_once(given);
  given.delayed = true;
  for (const Joined way : ways) {
    given.nccl = way == Joined::nccl;
    given.devices = way == Joined::shared ? 2 : 0;
    const std::uint64_t num_orders = std::getenv("D9D_NIGHT") == nullptr ? 2 : 20;
    for (std::uint64_t seed = 21; seed < 21 + num_orders; ++seed) {
      SCOPED_TRACE(::testing::Message() << "joined by " << static_cast<int>(way) << ", seed " << seed);
      for (int rank = 0; rank < given.mesh.world_size(); ++rank) delayed::machine(rank).reseed(seed);
      HostWaits::take();
      given.overlap = Overlap::never;
      expect_same_bits(train_once(given), expected);
      const HostWaits::Counts without = waits_of(given);
      given.overlap = Overlap::always;

      expect_same_bits(train_once(given), expected);

      EXPECT_EQ(waits_of(given), without) << "no host waits more often";
    }
  }
}

TEST(DelayedOverlap, OfPipelinesHasTheBitsOfTheCpu) {
  expect_bits_with_overlap(composed_case({}), {Joined::local});
  expect_bits_with_overlap(composed_case({.pipeline_parallel = 2}));
  ParallelCase again = composed_case({.pipeline_parallel = 2}, Qwen3Kind::moe);
  again.enable_checkpointing = true;
  expect_bits_with_overlap(again, {Joined::nccl});
  ParallelCase tied = composed_case({.pipeline_parallel = 2});
  tied.model.tie_word_embeddings = true;
  expect_bits_with_overlap(tied, {Joined::nccl});
  ParallelCase steps = composed_case({.pipeline_parallel = 2});
  steps.updates = 2;
  expect_bits_with_overlap(steps, {Joined::local});
}

TEST(DelayedOverlap, WithOffloadedLayersHasTheBitsOfTheCpu) {
  for (const std::int64_t layers : {1, 4}) {
    ParallelCase given = composed_case({.pipeline_parallel = 2});
    given.offload_layers = layers;
    given.updates = 1;
    expect_bits_with_overlap(given, {Joined::local});
  }
}

TEST(DelayedOverlap, OfReplicasAndShardsHasTheBitsOfTheCpu) {
  expect_bits_with_overlap(composed_case({.pipeline_parallel = 2, .data_parallel_replicate = 2}),
                           {Joined::local, Joined::nccl, Joined::shared});
  for (const ReshardAfterForward reshard : {ReshardAfterForward::always, ReshardAfterForward::never}) {
    ParallelCase given = composed_case({.pipeline_parallel = 2, .data_parallel_shard = 2});
    given.options.fully_shard.reshard_after_forward = reshard;
    given.updates = 1;
    expect_bits_with_overlap(given);
  }
  ParallelCase updates_split = composed_case({.pipeline_parallel = 2, .data_parallel_shard = 2});
  updates_split.options.zero1 = true;
  updates_split.updates = 1;
  expect_bits_with_overlap(updates_split, {Joined::nccl});
  ParallelCase each = composed_case({.pipeline_parallel = 2, .data_parallel_shard = 2});
  each.options.fully_shard.reduce = ReducePeriod::microbatch;
  expect_bits_with_overlap(each, {Joined::nccl});
}

TEST(DelayedOverlap, OfSplitLayersAndExpertsHasTheBitsOfTheCpu) {
  expect_bits_with_overlap(composed_case({.pipeline_parallel = 2, .tensor_parallel = 2}),
                           {Joined::local, Joined::nccl, Joined::shared});
  expect_bits_with_overlap(composed_case({.pipeline_parallel = 2, .context_parallel_shard = 2}));
  expect_bits_with_overlap(composed_case(
      {.pipeline_parallel = 2, .data_parallel_shard = 2, .expert_parallel = 2}, Qwen3Kind::moe));
}

TEST(DelayedOverlap, OfPartsThatBothCompleteGradientsHasTheBitsOfTheCpu) {
  expect_bits_with_overlap(
      composed_case({.data_parallel_replicate = 2}, Qwen3Kind::dense, backwards_beside_weights()));
}

// Plants costs, and sees the streams on which the work of each action runs. The host takes no time; its clock stands
// behind all that earlier tests of the process have run.
class PlantedStreams {
 public:
  explicit PlantedStreams(const std::string& costs) : cost_(delayed::costs_of(costs)) {
    static std::int64_t now_ns = SystemClock().now_ns();
    now_ns += 3'600'000 * ms;
    delayed::plant({.cost = [this](const delayed::Given& given) { return cost(given); },
                    .host_ns = [now = now_ns] { return now; }});
  }
  ~PlantedStreams() { delayed::plant({}); }
  PlantedStreams(const PlantedStreams&) = delete;
  PlantedStreams& operator=(const PlantedStreams&) = delete;
  const std::map<std::string, std::set<int>>& streams() const { return streams_; }

 private:
  std::int64_t cost(const delayed::Given& given) {
    const std::int64_t cost = cost_(given);
    const int stream = given.place % delayed::num_streams;
    const std::string action = given.work == nullptr ? "" : given.work->substr(0, given.work->find(','));
    if (action.size() == 3 && std::string(given.op) != "copy") streams_[action].insert(stream);
    return cost;
  }
  const std::function<std::int64_t(const delayed::Given&)> cost_;
  std::map<std::string, std::set<int>> streams_;
};

struct Seen {
  std::vector<LoggedWork> actions;  // of all ranks
  std::map<std::string, std::set<int>> streams;
  std::int64_t took() const {
    std::int64_t begin = INT64_MAX, end = 0;
    for (const LoggedWork& work : actions) {
      begin = std::min(begin, work.begin_ns);
      end = std::max(end, work.end_ns);
    }
    return end - begin;
  }
};

Seen seen_of(ParallelCase given, const std::string& costs = "F=2,B=4,I=2,W=2") {
  Seen seen;
  std::mutex mutex;
  given.delayed = true;
  given.after_step = [&](int, RankWorker& worker) {
    for (LoggedWork& work : worker.work_log()->take_done()) {
      if (work.kind != LoggedWork::Kind::compute || work.stage < 0) continue;
      const std::lock_guard lock(mutex);
      seen.actions.push_back(std::move(work));
    }
  };
  for (int rank = 0; rank < given.mesh.world_size(); ++rank) delayed::machine(rank).reseed(7);
  const PlantedStreams planted(costs);
  train_once(given);
  seen.streams = planted.streams();
  return seen;
}

std::int64_t simulated(const ParallelCase& given, std::optional<double> overlap) {
  const int ranks = given.mesh.pipeline_parallel;
  const PipelineProgram program = build_program(given.schedule, ranks, given.microbatches);
  CostModel costs{
      .stages = {static_cast<std::size_t>(program.topology.num_stages()),
                 StageCosts{.forward = 2, .backward_input = 2, .backward_weight = 2, .full_backward = 4}},
      .overlap = overlap};
  return static_cast<std::int64_t>(simulate(program.compute, program.topology, costs).makespan * 1e6);
}

// The simulator lets a part's result wait for the other part, and the first stage's I take its time, which is empty:
// all of that backward is in its W. On two ranks neither is on the longest path.
TEST(DelayedOverlap, TakesTheTimeThatTheSimulatorSays) {
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    ParallelCase given = composed_case({.pipeline_parallel = ranks});
    given.microbatches = 8;
    const std::int64_t with = seen_of(given).took();
    given.overlap = Overlap::never;
    const std::int64_t without = seen_of(given).took();

    EXPECT_EQ(without - with, simulated(given, {}) - simulated(given, 1.0));
    EXPECT_GE(without - with, 20 * ms);
    if (ranks > 1) {
      EXPECT_EQ(with, simulated(given, 1.0));
    }
  }
}

void expect_stages_on_their_streams(const ParallelCase& given) {
  const Seen seen = seen_of(given);

  ASSERT_FALSE(seen.streams.empty());
  for (const auto& [action, streams] : seen.streams) {
    const bool beside = parse_action(action).stage >= given.mesh.pipeline_parallel;  // the way back up the V
    EXPECT_EQ(streams,
              std::set<int>{static_cast<int>(beside ? StreamRole::compute_beside : StreamRole::compute)})
        << action;
  }
  for (const LoggedWork& work : seen.actions)
    EXPECT_EQ(work.stream,
              work.stage >= given.mesh.pipeline_parallel ? StreamRole::compute_beside : StreamRole::compute)
        << work.name;
}

// Backward too: autograd runs it on the stream of its forward.
TEST(DelayedOverlap, KeepsEachStageOnItsStream) {
  ParallelCase given = composed_case({.pipeline_parallel = 2});
  given.enable_checkpointing = true;
  expect_stages_on_their_streams(given);
  for (const char* name : {"sparse_families/gpt_oss", "modernbert/modernbert", "qwen3_next/mixed",
                           "gemma3_text/capped", "latent_families/deepseek_v3"}) {
    SCOPED_TRACE(name);
    ParallelCase family = composed_case({});
    family.other = read_hugging_face_config(std::string(D9D_SOURCE_DIR) + "/tests/golden/" + name);
    family.batch = tiny_batch(*family.other);
    expect_stages_on_their_streams(family);
  }
}

// Ranks that exchange in every layer: while one part does, the other computes (reference W-41).
TEST(DelayedOverlap, ComputesWhileTheOtherPartExchanges) {
  for (const bool nccl : {false, true}) {
    SCOPED_TRACE(nccl ? "nccl" : "local");
    ParallelCase given = composed_case({.tensor_parallel = 2});
    given.microbatches = 8;
    given.nccl = nccl;
    const auto took = [&](Overlap chosen) {
      given.overlap = chosen;
      return seen_of(given, "compute=0.1,communicate=0.3").took();
    };
    const std::int64_t with = took(Overlap::always), without = took(Overlap::never);
    EXPECT_LT(static_cast<double>(with), 0.8 * static_cast<double>(without));
  }
}

// In parts that are given in turns, in either of them.
TEST(DelayedOverlap, EndsWhereACollectiveOfAPartDoesNot) {
  ParallelCase given = composed_case({.tensor_parallel = 2});
  given.delayed = given.nccl = true;
  given.timeout = std::chrono::milliseconds(600);
  using Kind = nccl::EmulatedFault::Kind;
  for (const Kind kind : {Kind::hang, Kind::error}) {
    for (const int launch : {30, 31, 60}) {
      nccl::plant_fault(nccl::EmulatedFault{kind, 1, launch});

      const std::string error = error_of([&] { train_once(given); }, ErrorKind::environment);

      EXPECT_THAT(error, testing::HasSubstr("(nccl)")) << launch;
    }
  }
  nccl::plant_fault({});
  for (int rank = 0; rank < 2; ++rank) delayed::machine(rank).reseed(1);
}

TEST(DelayedOverlap, IsOffUnlessSomebodyAsksForIt) {
  ParallelCase given = composed_case({.pipeline_parallel = 2});
  given.overlap = Overlap::auto_;
  for (const auto& [action, streams] : seen_of(given).streams)
    EXPECT_EQ(streams, std::set<int>{static_cast<int>(StreamRole::compute)}) << action;
}

}  // namespace
}  // namespace d9d::test
