// Collectives between devices, each rank on its own, late and in another order with each seed: shared memory's bits.
#include "runtime/comm/device_local/device_local.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <functional>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
constexpr auto timeout = std::chrono::seconds(20);

// f(communicator, where its tensors are) on each rank's thread.
using OfRank = std::function<void(Communicator&, at::Device)>;
void on_devices(int ranks, const OfRank& f) {
  SharedMemoryHub hosts;
  DeviceHub devices;
  test::in_threads(ranks, [&](int rank) {
    Group group{"devices", {}, rank, true};
    for (int other = 0; other < ranks; ++other) group.ranks.push_back(other);
    Group host = group;
    host.name = "hosts";
    const auto communicator = devices.open(group, hosts.open(host, timeout), timeout);
    f(*communicator, delayed_device(rank)->place());
    communicator->barrier();  // nobody leaves before the others are through
  });
}

at::Tensor waves(std::int64_t count, int rank, at::ScalarType dtype) {
  return at::arange(count, at::kFloat).add(17.0 * rank).mul(0.37).sin().mul(1000).to(dtype);
}

// What `f` gives on delayed devices, in several orders, is what it gives on the CPU.
using Result = std::function<at::Tensor(Communicator&, const std::function<at::Tensor(at::Tensor)>& to)>;
void expect_bits_of_shared_memory(int ranks, const Result& f) {
  std::vector<at::Tensor> expected(static_cast<std::size_t>(ranks));
  const auto own = [](Communicator& group) { return static_cast<std::size_t>(group.rank()); };
  on_devices(ranks, [&](Communicator& group, at::Device) {
    expected[own(group)] = f(group, [](at::Tensor tensor) { return tensor; });
  });
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (int rank = 0; rank < ranks; ++rank) delayed::machine(rank).reseed(seed);
    HostWaits::take();
    std::vector<at::Tensor> there(expected.size());
    on_devices(ranks, [&](Communicator& group, at::Device place) {
      there[own(group)] =
          f(group, [&](const at::Tensor& tensor) { return upload(tensor, device_of(place)); });
    });
    EXPECT_TRUE(HostWaits::take().empty());
    for (std::size_t rank = 0; rank < there.size(); ++rank)
      EXPECT_TRUE(there[rank].cpu().equal(expected[rank])) << "rank " << rank << ", seed " << seed;
  }
}

TEST(DeviceLocal, AddsToTheBitsOfSharedMemory) {
  for (const int ranks : {2, 3, 4}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
      expect_bits_of_shared_memory(ranks, [&](Communicator& group, const auto& to) {
        at::Tensor x = to(waves(1001, group.rank(), dtype)).mul(2);
        group.all_reduce(x, ReduceOp::sum).wait();
        x.add_(1);  // the others have read it by then
        group.all_reduce(x, ReduceOp::max).wait();
        return x;
      });
      expect_bits_of_shared_memory(ranks, [&](Communicator& group, const auto& to) {
        const at::Tensor all = to(waves(60 * group.size(), group.rank(), dtype));
        at::Tensor mine = to(at::empty({60}, dtype));
        group.reduce_scatter(mine, all, ReduceOp::sum).wait();
        all.zero_();
        return mine.mul(2);
      });
    }
  }
}

TEST(DeviceLocal, MovesBlocksRowsAndShards) {
  expect_bits_of_shared_memory(3, [](Communicator& group, const auto& to) {
    at::Tensor all = to(at::empty({3 * 40}));
    const at::Tensor mine = to(waves(40, group.rank(), at::kFloat)).add(1);
    group.all_gather(all, mine).wait();
    mine.zero_();
    return all;
  });
  expect_bits_of_shared_memory(3, [](Communicator& group, const auto& to) {
    // Rank r sends d + 1 rows to rank d.
    const std::vector<std::int64_t> sent{1, 2, 3};
    const std::vector<std::int64_t> got(3, group.rank() + 1);
    const at::Tensor rows = to(waves(24, group.rank(), at::kFloat).view({6, 4}));
    at::Tensor came = to(at::empty({3 * (group.rank() + 1), 4}));
    group.all_to_all(came, rows, got, sent).wait();
    return came;
  });
  expect_bits_of_shared_memory(3, [](Communicator& group, const auto& to) {
    const ShardMap map{.whole_size = 5,
                       .shard_sizes = {2, 3, 0},
                       .pieces = {{.rank = 0, .in_whole = 0, .in_shard = 0, .count = 2},
                                  {.rank = 1, .in_whole = 2, .in_shard = 0, .count = 3}}};
    const std::int64_t own = map.shard_sizes[static_cast<std::size_t>(group.rank())];
    at::Tensor shard = to(at::empty({own}));
    group.sum_to_shards(shard, to(waves(5, group.rank(), at::kFloat)), map).wait();
    at::Tensor whole = to(at::empty({5}));
    group.gather_shards(whole, shard, map).wait();
    group.broadcast(whole, 2).wait();
    return whole;
  });
}

TEST(DeviceLocal, SendsInRings) {
  expect_bits_of_shared_memory(4, [](Communicator& group, const auto& to) {
    at::Tensor here = to(waves(64, group.rank(), at::kFloat));
    at::Tensor sum = here.clone();
    for (int step = 0; step < 3; ++step) {
      at::Tensor coming = to(at::empty({64}));
      group.begin_exchange(here, (group.rank() + 1) % 4, coming, (group.rank() + 3) % 4, 5);
      group.end_exchange(coming, (group.rank() + 3) % 4, 5).wait();
      sum = sum.mul(2).add(coming);
      here = coming;
    }
    return sum;
  });
}

// What is read or written without waiting is refused, whatever the order of work.
TEST(DeviceLocal, GivesNothingToThoseWhoDoNotWait) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (int rank = 0; rank < 2; ++rank) delayed::machine(rank).reseed(seed);
    on_devices(2, [&](Communicator& group, at::Device place) {
      at::Tensor x = at::full({100}, 1.0).to(place);
      const Pending sum = group.all_reduce(x, ReduceOp::sum);
      EXPECT_THAT(test::error_of([&] { x.clone(); }),
                  HasSubstr("communicate in all_reduce of devices, until the others have read, which "
                            "writes them"));
      sum.wait();
      at::Tensor all = at::empty({200}, x.options());
      const Pending gathered = group.all_gather(all, x);
      EXPECT_THROW(x.zero_(), Error) << "others read it";
      gathered.wait();
    });
  }
  for (int rank = 0; rank < 2; ++rank) delayed::machine(rank).reseed(1);
}

TEST(DeviceLocal, SaysWhichRanksDiffer) {
  on_devices(2, [](Communicator& group, at::Device place) {
    at::Tensor x = at::full({group.rank() == 0 ? 3 : 4}, 1.0).to(place);
    EXPECT_THAT(test::error_of([&] { group.all_reduce(x, ReduceOp::sum).wait(); }),
                HasSubstr("do not call the same operation"));
  });
}

// A call that cannot do its part (here: of a device's memory into the host's) does not leave the others waiting.
TEST(DeviceLocal, ARankThatFailsInACallFailsTheGroup) {
  DeviceHub devices;
  SharedMemoryHub hosts;
  std::vector<std::string> errors(2);
  test::in_threads(2, [&](int rank) {
    const Group group{"devices", {0, 1}, rank, true}, host{"hosts", {0, 1}, rank, true};
    const auto communicator = devices.open(group, hosts.open(host, timeout), timeout);
    const at::Tensor mine = at::full({4}, 1.0).to(delayed_device(rank)->place());
    at::Tensor all = at::empty({8}, rank == 1 ? at::TensorOptions(at::kCPU) : mine.options());
    try {
      for (int call = 0; call < 2; ++call) communicator->all_gather(all, mine).wait();
    } catch (const std::exception& error) {
      errors[static_cast<std::size_t>(rank)] = error.what();
    }
  });

  EXPECT_THAT(errors[0], HasSubstr("(device_local): rank 1 failed in all_gather"));
  EXPECT_THAT(errors[1], HasSubstr("one of a delayed device"));
}

}  // namespace
}  // namespace d9d
