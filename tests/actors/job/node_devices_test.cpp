#include "actors/job/node_devices.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

JobConfig four_replicas(DeviceKind device) {
  JobConfig job;
  job.node.device = device;
  job.mesh.data_parallel_replicate = 4;
  return job;
}

TEST(NodeDevices, OfOneNodeAreThoseOfItsRanks) {
  const JobConfig job = four_replicas(DeviceKind::delayed);

  EXPECT_EQ(places_on_node(job, 4, 4).collectives, CollectivesKind::local);
  EXPECT_EQ(places_on_node(job, 4, 2).devices, 2);
}

TEST(NodeDevices, OfSeveralNodesTakeNccl) {
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::delayed}) {
    const JobConfig job = four_replicas(kind);
    EXPECT_EQ(places_on_node(job, 2, 8).collectives, CollectivesKind::nccl);
    EXPECT_EQ(places_on_node(job, 1, 1).collectives, CollectivesKind::nccl);
  }
}

TEST(NodeDevices, OfSeveralNodesRefuseWhatNcclCannot) {
  JobConfig job = four_replicas(DeviceKind::cuda);
  EXPECT_THAT(test::error_of([&] { places_on_node(job, 2, 1); }, ErrorKind::input),
              AllOf(HasSubstr("2 of the mesh's 4 ranks share a device of this node"),
                    HasSubstr("start one rank here (--ranks), or raise node.devices")));

  job.node.collectives = CollectivesKind::local;
  EXPECT_THAT(test::error_of([&] { places_on_node(job, 2, 2); }, ErrorKind::input),
              AllOf(HasSubstr("node.collectives: local, and this node has 2 of the mesh's 4 ranks"),
                    HasSubstr("set node.collectives: nccl, or start one node")));
}

}  // namespace
}  // namespace d9d
