#include "runtime/launch/device_places.hpp"

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

HostShare worker(int index, int count) {
  return {.worker = {index, count}};
}

TEST(DevicePlaces, OfSeveralProcessesAreTheirPartsOfTheHost) {
  const JobConfig job = job_on(DeviceKind::cuda);
  std::vector<int> taken;
  for (int i = 0; i < 3; ++i) {
    const DevicePlaces places = device_places(job, 4, 8, worker(i, 3));
    for (int rank = 0; rank < places.devices; ++rank) taken.push_back(places.of(rank));
  }
  EXPECT_EQ(taken, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));

  EXPECT_EQ(device_places(job, 1, 4, worker(3, 4)).of(0), 3);
  EXPECT_EQ(device_places(job, 1, 4, {.launched = {1, 2}, .worker = {1, 2}}).of(0), 3);
}

TEST(DevicePlaces, OfSeveralProcessesMakeTheSameCollectives) {
  JobConfig job = job_on(DeviceKind::cuda);
  job.mesh.data_parallel_replicate = 9;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(device_places(job, 3, 8, worker(i, 3)).collectives, CollectivesKind::local)
        << "one of them has two devices for three ranks";
    EXPECT_EQ(device_places(job, 1, 3, worker(i, 3)).collectives, CollectivesKind::nccl);
  }
}

TEST(DevicePlaces, AreWhatALauncherHasLeftToAProcess) {
  const JobConfig job = job_on(DeviceKind::cuda);

  EXPECT_EQ(device_places(job, 1, 1, {.launched = {3, 4}}).of(0), 0) << "it sees one of four";
  EXPECT_EQ(device_places(job, 4, 4, {.launched = {1, 2}, .devices_bound = true}).devices, 4);
  EXPECT_EQ(device_places(job, 1, 2, {.launched = {3, 4}, .worker = {1, 2}}).of(0), 1);
}

TEST(DevicePlaces, OfDelayedDevicesAreTheProcesssOwn) {
  JobConfig job = job_on(DeviceKind::delayed);
  EXPECT_EQ(device_places(job, 2, 2, worker(1, 2)).of(1), 1);
  EXPECT_EQ(device_places(job, 2, 2, worker(1, 2)).devices, 2);
  job.node.devices = 2;
  EXPECT_EQ(device_places(job, 2, 2, worker(1, 2)).devices, 1);
}

TEST(DevicePlaces, OfDelayedDevicesAreAsManyAsRanks) {
  EXPECT_EQ(delayed_devices(3), 3);
  EXPECT_EQ(delayed_devices(12), 8);
}

}  // namespace
}  // namespace d9d
