#include "runtime/device/memory_pools.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "runtime/device/device.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;

TEST(MemoryPools, AreOfTheInnermostScopeOfTheThread) {
  EXPECT_EQ(PoolScope::current(), MemoryPool::activations);
  const PoolScope outer(MemoryPool::state);
  {
    const PoolScope inner(MemoryPool::communication);
    EXPECT_EQ(PoolScope::current(), MemoryPool::communication);
  }
  EXPECT_EQ(PoolScope::current(), MemoryPool::state);
}

TEST(MemoryPools, RememberWhatWasInUseWhenMostWas) {
  PoolCounts counts;
  counts.take(MemoryPool::state, 10);
  counts.take(MemoryPool::activations, 5);
  counts.give_back(MemoryPool::activations, 5);
  counts.take(MemoryPool::communication, 4);

  EXPECT_THAT(counts.in_use(), ElementsAre(0, 10, 4));
  EXPECT_THAT(counts.at_peak(), ElementsAre(5, 10, 0));
}

TEST(MemoryPools, OfADelayedDeviceAreThoseOfTheThreadThatMadeItsTensors) {
  const auto device = delayed_device(6);
  const at::TensorOptions options = at::TensorOptions(device->place()).dtype(at::kFloat);
  const PoolBytes before = device->memory().in_use;
  const auto grown = [&] {
    PoolBytes now = device->memory().in_use;
    for (std::size_t i = 0; i < now.size(); ++i) now[i] -= before[i];
    return now;
  };
  at::Tensor weights, gathered;
  {
    const PoolScope pool(MemoryPool::state);
    weights = at::zeros({256}, options);
  }
  {
    const StreamScope stream(*device, StreamRole::communicate);
    gathered = at::zeros({512}, options);
  }
  at::Tensor hidden = at::zeros({128}, options);

  EXPECT_THAT(grown(), ElementsAre(512, 1024, 2048));
  hidden = at::Tensor();
  EXPECT_THAT(grown(), ElementsAre(0, 1024, 2048));
  hidden = at::zeros({128}, options);  // the same block
  EXPECT_THAT(grown(), ElementsAre(512, 1024, 2048));
}

}  // namespace
}  // namespace d9d
