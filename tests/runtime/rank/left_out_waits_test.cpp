// A mesh that leaves out a wait between two streams: it shows, at the first access that no event orders any more, in
// whatever order the work runs. Each place of a wait is left out in two steps with an update between them.
// At night (D9D_NIGHT=1) every single wait is left out, too, and the test names those behind which other waits come.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <optional>

#include "runtime/devices/delayed/machine.hpp"
#include "runtime/devices/delayed/stream_waits.hpp"
#include "tests/runtime/rank/delayed_case.hpp"
#include "tests/support/meshes.hpp"
#include "tests/support/parallel_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {
namespace {

using delayed::StreamWaits;
using Mesh = DeviceMeshParameters;

bool same(const Trained& one, const Trained& other) {
  if (one.loss != other.loss || one.norm != other.norm) return false;
  for (const auto& [name, gradient] : one.gradients)
    if (!other.gradients.at(name).equal(gradient)) return false;
  return true;
}

// Whether steps without the wait show it. None, if the wait did not come.
std::optional<bool> shows(const ParallelCase& given, const Trained& expected, const std::string& skipped) {
  for (int rank = 0; rank < given.mesh.world_size(); ++rank) delayed::machine(rank).reseed(1);
  StreamWaits::restart(skipped);
  testing::TestPartResultArray differences;  // replicas that are not the same
  const testing::ScopedFakeTestPartResultReporter caught(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &differences);
  bool shown = false;
  try {
    shown = !same(expected, train_once(given)) || differences.size() > 0;
  } catch (const std::exception&) {
    shown = true;
  }
  if (!StreamWaits::left_out()) return std::nullopt;
  return shown;
}

// The next to write a unit's shards is the update, and that comes behind the reductions of gradients, in which every
// rank waits for all others. An all_gather cannot know that: what it read may be written behind its result.
// A gather of B reads shards for which that of the same step's F has waited.
// What a stage on `compute_beside` does first comes behind a tensor of the stage before it, and with it behind the last
// update: the fork keeps the program's order (stage_streams_test misses it).
// Behind the join comes the update. Where gradients are summed over ranks it comes behind the sums, and they behind
// both streams.
bool is_redundant(const std::string& place, const ParallelCase& given) {
  const bool sums = given.mesh.data_parallel() > 1;
  if (place.ends_with(" in fork") || (sums && place.ends_with(" in join"))) return true;
  const bool of_backward = place.find(" in B, gather , all_gather") != std::string::npos;
  return (of_backward && place.ends_with("before it reads")) ||
         (place.find("gather , all_gather") != std::string::npos &&
          place.ends_with("until the others have read"));
}

struct Count {
  std::size_t tried = 0, shown = 0;
  std::string hidden;
};

Count count_shown(const ParallelCase& given, const Trained& expected, const std::vector<std::string>& waits) {
  Count count;
  for (const std::string& wait : waits) {
    if (is_redundant(wait, given)) continue;
    const auto found = shows(given, expected, wait);
    if (!found) continue;
    ++count.tried;
    if (*found) {
      ++count.shown;
    } else {
      count.hidden += "\n  " + wait;
    }
  }
  return count;
}

struct WaitsOf {
  Mesh mesh;
  Qwen3Kind kind = Qwen3Kind::dense;
  ReshardAfterForward reshard = ReshardAfterForward::always;
  bool nccl = false;
  bool snapshots = false;
  std::int64_t offload_layers = 0;
  std::optional<ScheduleConfig> overlap = {};  // whose composed actions do

  friend void PrintTo(const WaitsOf& waits, std::ostream* out) {
    *out << text_of(waits.mesh) << (waits.kind == Qwen3Kind::moe ? " moe" : "")
         << (waits.reshard == ReshardAfterForward::never ? " kept whole" : "") << (waits.nccl ? " nccl" : "")
         << (waits.snapshots ? " snapshots" : "") << (waits.offload_layers > 0 ? " offload" : "")
         << (waits.overlap ? " overlap " + std::string(name_of(*waits.overlap)) : "");
  }
};

WaitsOf by_nccl(const Mesh& mesh) {
  return {.mesh = mesh, .nccl = true};
}
WaitsOf with_snapshots(const Mesh& mesh) {
  return {.mesh = mesh, .snapshots = true};
}
WaitsOf with_offload(const Mesh& mesh) {
  return {.mesh = mesh, .offload_layers = 3};
}

WaitsOf with_overlap(const Mesh& mesh, const ScheduleConfig& schedule = DualPipeVSchedule{},
                     std::int64_t offload_layers = 0) {
  return {.mesh = mesh, .offload_layers = offload_layers, .overlap = schedule};
}

class LeftOutWaits : public testing::TestWithParam<WaitsOf> {
 protected:
  LeftOutWaits() { reseed(); }  // a test before may have seen an access that no event orders, which stops all
  ~LeftOutWaits() override {
    StreamWaits::restart();
    reseed();  // what the last run has left
  }
  static void reseed() {
    for (int rank = 0; rank < 2; ++rank) delayed::machine(rank).reseed(1);
  }
};

TEST_P(LeftOutWaits, Show) {
  ParallelCase given{.mesh = GetParam().mesh, .model = tiny_qwen3(GetParam().kind)};
  given.nccl = GetParam().nccl;
  given.batch = tiny_batch(given.model);
  given.microbatches = 2;
  given.schedule = OneFOneBSchedule{};
  given.options.fully_shard.reshard_after_forward = GetParam().reshard;
  const TemporaryFolder folder;
  given.updates = 1;
  given.offload_layers = GetParam().offload_layers;
  if (given.offload_layers > 0) given.model.num_hidden_layers = 4;
  if (GetParam().overlap) {
    given.model.num_hidden_layers = 4;
    given.microbatches = 4;
    given.schedule = *GetParam().overlap;
  }
  if (GetParam().snapshots) {
    given.updates = 2;  // one behind a snapshot
    given.snapshots = folder / "snapshots";
  }
  const Trained expected = train_once(given);
  given.delayed = true;
  if (GetParam().overlap) given.overlap = Overlap::always;
  StreamWaits::restart();
  const Trained delayed = train_once(given);
  EXPECT_EQ(delayed.loss, expected.loss);
  EXPECT_EQ(delayed.norm, expected.norm);
  ASSERT_TRUE(same(expected, delayed));
  const std::vector<std::string> places = StreamWaits::places(), waits = StreamWaits::names();

  const Count of_places = count_shown(given, expected, places);

  EXPECT_GT(of_places.tried, 0U);
  EXPECT_EQ(of_places.shown, of_places.tried) << "not needed, or not tested:" << of_places.hidden;
  if (std::getenv("D9D_NIGHT") == nullptr) return;
  const Count of_waits = count_shown(given, expected, waits);
  std::cerr << text_of(given.mesh) << ": " << of_places.shown << " of " << of_places.tried << " places show, "
            << of_waits.shown << " of " << of_waits.tried
            << " waits; others come behind them:" << of_waits.hidden << "\n";
}

INSTANTIATE_TEST_SUITE_P(
    Meshes, LeftOutWaits,
    testing::Values(WaitsOf{{.pipeline_parallel = 2}}, WaitsOf{{.data_parallel_replicate = 2}},
                    WaitsOf{{.data_parallel_shard = 2}},
                    WaitsOf{{.data_parallel_shard = 2}, Qwen3Kind::moe, ReshardAfterForward::never},
                    WaitsOf{{.tensor_parallel = 2}}, WaitsOf{{.context_parallel_shard = 2}},
                    WaitsOf{{.data_parallel_replicate = 2, .expert_parallel = 2}, Qwen3Kind::moe},
                    by_nccl({.data_parallel_replicate = 2}), by_nccl({.data_parallel_shard = 2}),
                    by_nccl({.tensor_parallel = 2}), by_nccl({.context_parallel_shard = 2}),
                    with_snapshots({}), with_snapshots({.data_parallel_shard = 2}), with_offload({}),
                    with_offload({.data_parallel_shard = 2}), with_overlap({.pipeline_parallel = 2}),
                    with_overlap({.data_parallel_replicate = 2}, backwards_beside_weights()),
                    with_overlap({}, backwards_beside_weights()),
                    with_overlap({.pipeline_parallel = 2}, DualPipeVSchedule{}, 3)));

}  // namespace
}  // namespace d9d::test
