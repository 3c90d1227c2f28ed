// A mesh that leaves out one wait between two streams: some order of work shows it. Waits are not told apart here; the
// share of those that show says that meshes are tested, and D9D_EVERY_WAIT=1 tries all and names those that do not.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "runtime/device/delayed/machine.hpp"
#include "runtime/device/delayed/stream_waits.hpp"
#include "tests/support/meshes.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

using delayed::StreamWaits;

bool same(const Trained& one, const Trained& other) {
  if (one.loss != other.loss || one.norm != other.norm) return false;
  for (const auto& [name, gradient] : one.gradients)
    if (!other.gradients.at(name).equal(gradient)) return false;
  return true;
}

// Whether a step without wait number `skipped` shows it, in any of a few orders.
bool shows(const ParallelCase& given, const Trained& expected, std::uint64_t skipped, std::uint64_t orders) {
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    for (int rank = 0; rank < given.mesh.world_size(); ++rank)
      delayed::machine(rank).reseed(100 * skipped + seed);
    StreamWaits::restart(skipped);
    testing::TestPartResultArray differences;  // replicas that are not the same
    const testing::ScopedFakeTestPartResultReporter caught(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &differences);
    try {
      if (!same(expected, train_once(given)) || differences.size() > 0) return true;
    } catch (const std::exception&) {
      return true;  // poison as an index
    }
  }
  return false;
}

// Of a mesh, and whether its ranks are joined by NCCL's communicators.
class LeftOutWaits : public testing::TestWithParam<std::pair<DeviceMeshParameters, bool>> {
 protected:
  ~LeftOutWaits() override { StreamWaits::restart(0); }
};

TEST_P(LeftOutWaits, Show) {
  ParallelCase given{.mesh = GetParam().first, .model = tiny_qwen3(Qwen3Kind::dense)};
  given.nccl = GetParam().second;
  given.batch = tiny_batch(given.model);
  given.microbatches = 2;
  given.schedule = OneFOneBSchedule{};
  const Trained expected = train_once(given);
  given.delayed = true;
  StreamWaits::restart(0);
  ASSERT_TRUE(same(expected, train_once(given)));
  const std::uint64_t waits = StreamWaits::count();
  const bool every = std::getenv("D9D_EVERY_WAIT") != nullptr;
  const std::uint64_t step = every ? 1 : std::max<std::uint64_t>(1, waits / 24);

  std::uint64_t tried = 0, shown = 0;
  std::string hidden;
  for (std::uint64_t skipped = 1; skipped <= waits; skipped += step, ++tried) {
    if (shows(given, expected, skipped, every ? 20 : 6)) {
      ++shown;
    } else {
      hidden += " " + std::to_string(skipped);
    }
  }

  if (every) std::cerr << shown << " of " << tried << " waits show; hidden:" << hidden << "\n";
  // Many are behind others: a host that waited for a norm has waited for what was summed, too. And ranks' threads
  // number their waits together, so that it is another one in each run. About half show.
  EXPECT_GE(8 * shown, tried) << "hidden:" << hidden;
}

using LeftOutMesh = DeviceMeshParameters;

INSTANTIATE_TEST_SUITE_P(Meshes, LeftOutWaits,
                         testing::Values(std::pair(LeftOutMesh{.pipeline_parallel = 2}, false),
                                         std::pair(LeftOutMesh{.data_parallel_replicate = 2}, false),
                                         std::pair(LeftOutMesh{.data_parallel_shard = 2}, false),
                                         std::pair(LeftOutMesh{.tensor_parallel = 2}, false),
                                         std::pair(LeftOutMesh{.context_parallel_shard = 2}, false)));
INSTANTIATE_TEST_SUITE_P(NcclMeshes, LeftOutWaits,
                         testing::Values(std::pair(LeftOutMesh{.data_parallel_replicate = 2}, true),
                                         std::pair(LeftOutMesh{.data_parallel_shard = 2}, true),
                                         std::pair(LeftOutMesh{.tensor_parallel = 2}, true),
                                         std::pair(LeftOutMesh{.context_parallel_shard = 2}, true)));

}  // namespace
}  // namespace d9d::test
