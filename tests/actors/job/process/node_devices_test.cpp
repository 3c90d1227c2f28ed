#include "actors/job/process/node_devices.hpp"

#include <gmock/gmock.h>

#include "runtime/launch/run_options.hpp"
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

TEST(NodeDevices, BreakNoPromiseOfTls) {
  JobConfig job = four_replicas(DeviceKind::cuda);
  job.node.tls = TlsConfig{};
  const std::vector<HostPort> here{{"", 0}, {"127.0.0.1", 1}, {"::1", 2}},
      beyond{{"127.0.0.1", 1}, {"10.0.0.2", 2}};
  const RunOptions joins{.join = "10.0.0.1:29500"}, listens{.listen = "0.0.0.0:0"},
      stays{.join = "127.0.0.1:1"};
  const auto refusal_of = [&](const auto& call) { return test::error_of(call, ErrorKind::input); };

  require_protected_collectives(job, 2, {}, here);
  require_protected_collectives(job, 2, stays);
  require_protected_collectives(job, 4, joins);  // one node
  EXPECT_THAT(refusal_of([&] { require_protected_collectives(job, 2, {}, beyond); }),
              AllOf(HasSubstr("10.0.0.2 leads beyond this host"), HasSubstr("node.clear_collectives: true")));
  EXPECT_THAT(refusal_of([&] { require_protected_collectives(job, 2, joins); }), HasSubstr("10.0.0.1 leads"));
  EXPECT_THAT(refusal_of([&] { require_protected_collectives(job, 2, listens); }),
              HasSubstr("0.0.0.0 leads"));

  job.node.clear_collectives = true;
  require_protected_collectives(job, 2, {}, beyond);
  require_protected_collectives(job, 2, joins);
  job = four_replicas(DeviceKind::cpu);
  job.node.tls = TlsConfig{};
  require_protected_collectives(job, 2, {}, beyond);
}

TEST(NodeDevices, OfOneCommandSendNothingBeyondTheHostWhereverTheyMeet) {
  JobConfig job = four_replicas(DeviceKind::cuda);
  job.node.tls = TlsConfig{};
  job.node.listen = "10.0.0.1:29500";
  const std::vector<HostPort> nodes{{"10.0.0.1", 29500}, {"10.0.0.1", 40000}};
  const HostShare half{.worker = {1, 2}}, quarter{.worker = {1, 4}};

  require_protected_collectives(job, 2, {.share = half});
  require_protected_collectives(job, 2, {.join = "10.0.0.1:29500", .share = half});
  require_protected_collectives(job, 2, half, nodes);
  EXPECT_THAT(
      test::error_of([&] { require_protected_collectives(job, 1, {.share = half}); }, ErrorKind::input),
      HasSubstr("10.0.0.1 leads"));
  EXPECT_THAT(test::error_of([&] { require_protected_collectives(job, 1, half, nodes); }, ErrorKind::input),
              HasSubstr("10.0.0.1 leads"))
      << "the other half of the ranks is on another host";
  require_protected_collectives(job, 1, quarter, nodes);
}

}  // namespace
}  // namespace d9d
