#include "actors/job/device_places.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

JobConfig job_on(DeviceKind device) {
  JobConfig job;
  job.node.device = device;
  return job;
}

TEST(DevicePlaces, GiveEachRankADeviceInTurn) {
  const JobConfig job = job_on(DeviceKind::cuda);

  const DevicePlaces shared = device_places(job, 4, 2);
  const DevicePlaces own = device_places(job, 2, 8);

  EXPECT_EQ(shared.of(0), 0);
  EXPECT_EQ(shared.of(1), 1);
  EXPECT_EQ(shared.of(2), 0);
  EXPECT_EQ(shared.collectives, CollectivesKind::local);
  EXPECT_EQ(own.of(1), 1);
  EXPECT_EQ(own.collectives, CollectivesKind::nccl);
}

TEST(DevicePlaces, TakeNcclWhereItIsWantedAndCanBe) {
  JobConfig job = job_on(DeviceKind::delayed);
  EXPECT_EQ(device_places(job, 2, 2).collectives, CollectivesKind::local);
  job.node.collectives = CollectivesKind::nccl;
  EXPECT_EQ(device_places(job, 2, 2).collectives, CollectivesKind::nccl);

  job = job_on(DeviceKind::cuda);
  EXPECT_EQ(device_places(job, 1, 1).collectives, CollectivesKind::local);
  job.trainer.pipelining.order = CursorOrder::dynamic;
  EXPECT_EQ(device_places(job, 2, 2).collectives, CollectivesKind::local);
}

TEST(DevicePlaces, RefuseWhatTheHostHasNot) {
  JobConfig job = job_on(DeviceKind::cuda);
  job.node.devices = 3;
  EXPECT_THAT(test::error_of([&] { device_places(job, 4, 2); }, ErrorKind::input),
              HasSubstr("node.devices is 3, and this host has 2: set node.devices to 2"));

  job.node.devices = 1;
  job.node.collectives = CollectivesKind::nccl;
  EXPECT_THAT(test::error_of([&] { device_places(job, 4, 2); }, ErrorKind::input),
              AllOf(HasSubstr("node.collectives: nccl, and 4 ranks share a device"),
                    HasSubstr("set node.collectives: local, or let mesh have one rank")));
}

TEST(DevicePlaces, OfDelayedDevicesAreAsManyAsRanks) {
  EXPECT_EQ(delayed_devices(3), 3);
  EXPECT_EQ(delayed_devices(12), 8);
}

}  // namespace
}  // namespace d9d
