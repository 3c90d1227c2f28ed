#include "runtime/comm/factory.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/reduce_scalars.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

DeviceMeshParameters two_by_two() {
  DeviceMeshParameters parameters;
  parameters.pipeline_parallel = 2;
  parameters.data_parallel_replicate = 2;
  return parameters;
}

TEST(CommunicatorFactory, NeedsNoPeersForAGroupOfOne) {
  const Plan plan({}, {1});
  SharedMemoryHub hub;
  const CommunicatorFactory factory(plan, hub, nullptr, {});

  const auto alone = factory.open(0, "flat", {"world"}, "norm");

  EXPECT_EQ(alone->backend(), "single");
  EXPECT_EQ(alone->size(), 1);
}

TEST(CommunicatorFactory, StaysInSharedMemoryOnOneNodeAndTakesSocketsBetweenNodes) {
  const Plan plan(two_by_two(), {2, 2});
  SharedMemoryHub hubs[2];
  net::Gate gates[2];
  const std::vector<HostPort> addresses{{"127.0.0.1", gates[0].listen("127.0.0.1", 0)},
                                        {"127.0.0.1", gates[1].listen("127.0.0.1", 0)}};
  const auto node_of = [&](int rank) { return plan.placement(rank).node; };
  SocketTransport transports[]{{gates[0], {.node = 0, .nodes = addresses, .node_of = node_of, .job = ""}},
                               {gates[1], {.node = 1, .nodes = addresses, .node_of = node_of, .job = ""}}};
  test::in_threads(4, [&](int rank) {
    const CommunicatorFactory factory(plan, hubs[node_of(rank)], &transports[node_of(rank)], {});
    const auto replicas = factory.open(rank, "dense", {"dp_replicate"}, "gradients");
    const auto stages = factory.open(rank, "regular", {"pp"}, "norm");
    EXPECT_EQ(replicas->backend(), "shared_memory");
    EXPECT_EQ(stages->backend(), "sockets");
    EXPECT_THAT(stages->name(), HasSubstr(rank % 2 == 0 ? "pp[0,2]/norm" : "pp[1,3]/norm"));
    EXPECT_EQ(test::all_reduce_scalars(*replicas, {1.0 * rank})[0], rank < 2 ? 1.0 : 5.0);
    EXPECT_EQ(test::all_reduce_scalars(*stages, {1.0 * rank})[0], rank % 2 == 0 ? 2.0 : 4.0);
  });
}

TEST(CommunicatorFactory, OpensNothingOfADeviceForValuesOfTheHost) {
  const Plan plan({.data_parallel_replicate = 2}, {2});
  SharedMemoryHub hub;
  const CommunicatorFactory factory(plan, hub, nullptr,
                                    {.devices = {.kind = DeviceCollectives::Kind::local}});

  EXPECT_EQ(factory.open(0, "flat", {"world"}, "sums")->backend(), "device_local");
  EXPECT_EQ(factory.open_on_host(0, "flat", {"world"}, "step")->backend(), "shared_memory");
}

TEST(CommunicatorFactory, OpensAPairInEachDirection) {
  const Plan plan(two_by_two(), {4});
  SharedMemoryHub hub;
  const CommunicatorFactory factory(plan, hub, nullptr, {});

  const auto forward = factory.open_pair(2, 0, 2, "pipeline");
  const auto backward = factory.open_pair(2, 2, 0, "pipeline");

  EXPECT_EQ(forward->rank(), 1);
  EXPECT_NE(forward->name(), backward->name());
  EXPECT_THROW(factory.open_pair(1, 0, 2, "pipeline"), Error);
}

TEST(CommunicatorFactory, GivesEachUseACommunicatorOfItsOwn) {
  DeviceMeshParameters pair;
  pair.data_parallel_replicate = 2;
  const Plan plan(pair, {2});
  SharedMemoryHub hub;
  const CommunicatorFactory factory(plan, hub, nullptr, {});

  const auto gradients = factory.open(0, "batch", {"dp"}, "gradients");
  const auto metrics = factory.open(0, "batch", {"dp"}, "metrics");

  EXPECT_NE(gradients->name(), metrics->name());
}

}  // namespace
}  // namespace d9d
