// Shards of units (fully sharded data parallelism) over NCCL: how many kernels a gather and a sum launch, and that
// their numbers are those of a copy for each piece.
#include "runtime/comm/communicator.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/device/host_waits.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/runtime/devices/delayed/nccl/emulated_world.hpp"

namespace d9d::nccl {
namespace {

using testing::Each;
using testing::UnorderedElementsAre;

// Rows and their width, of each weight of a unit.
using Weights = std::vector<std::pair<std::int64_t, std::int64_t>>;
// A layer of 11 weights whose rows 8 ranks share evenly.
const Weights even_layer{{32, 6}, {16, 6}, {16, 6}, {8, 1},  {8, 1}, {48, 6},
                         {24, 1}, {24, 1}, {40, 6}, {40, 6}, {48, 5}};
// Odd lengths, weights of fewer rows than ranks (empty pieces), one of a single element.
const Weights odd_layer{{3, 5}, {1, 1}, {17, 3}, {8, 7}, {2, 9}, {5, 1}};

// As fully_shard does: the rows of rank 0, then those of rank 1 and so on; the first ranks have a row more.
ShardMap map_of(const Weights& weights, int ranks) {
  ShardMap map{.shard_sizes = std::vector<std::int64_t>(static_cast<std::size_t>(ranks))};
  for (const auto& [rows, width] : weights) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t count = (rows / ranks + (rank < rows % ranks ? 1 : 0)) * width;
      std::int64_t& shard = map.shard_sizes[static_cast<std::size_t>(rank)];
      if (count > 0) map.pieces.push_back({rank, map.whole_size, shard, count});
      map.whole_size += count;
      shard += count;
    }
  }
  map.whole_size += 3;  // of nobody
  return map;
}

// Small integers: their sums are exact in every order and dtype.
at::Tensor gradient_of(int rank, std::int64_t count, at::ScalarType dtype) {
  return at::arange(count, at::kLong).add(3 * rank).remainder(13).to(dtype);
}

struct Done {
  std::vector<std::string> launched;  // by rank 0's device
  std::int64_t planted_ns = 0;        // that they take
};

// A sum into shards, then a gather of them, on each rank; both are compared with a copy for each piece.
Done sum_and_gather(const Weights& weights, int ranks, at::ScalarType dtype) {
  constexpr std::int64_t cost_ns = 10'000;
  delayed::plant(
      {.cost = [](const delayed::Given&) { return cost_ns; }, .host_ns = [] { return 1'000'000; }});
  const ShardMap map = map_of(weights, ranks);
  at::Tensor sum = at::zeros({map.whole_size}, dtype);
  for (int rank = 0; rank < ranks; ++rank) sum.add_(gradient_of(rank, map.whole_size, dtype));
  Done done;
  {
    EmulatedWorld world(ranks);
    const auto errors = world.run([&](int rank, Communicator& all, Communicator&) {
      const at::Tensor gradient = on(rank, gradient_of(rank, map.whole_size, dtype));
      at::Tensor shard = on(rank, at::full({map.shard_sizes[static_cast<std::size_t>(rank)]}, -1, dtype));
      at::Tensor whole = on(rank, at::full({map.whole_size}, -1, dtype));
      Device& device = device_of(place(rank));
      device.finish();
      all.barrier();
      if (rank == 0) {
        HostWaits::take();
        device.note_kernels(true);
      }
      all.barrier();
      {
        const WorkName work("unit");
        all.sum_to_shards(shard, gradient, map).wait();
        all.gather_shards(whole, shard, map).wait();
      }
      all.barrier();
      if (rank == 0) {
        EXPECT_TRUE(HostWaits::take().empty());
      }
      all.barrier();
      device.finish();
      if (rank == 0) {
        for (const KernelRun& kernel : device.take_kernels()) {
          done.launched.push_back(kernel.name);
          done.planted_ns += kernel.end_ns - kernel.begin_ns;
        }
        device.note_kernels(false);
      }
      const at::Tensor here = whole.cpu(), own = shard.cpu();
      for (const ShardPiece& piece : map.pieces) {
        const at::Tensor expected = sum.narrow(0, piece.in_whole, piece.count);
        EXPECT_TRUE(here.narrow(0, piece.in_whole, piece.count).equal(expected));
        if (piece.rank != rank) continue;
        EXPECT_TRUE(own.narrow(0, piece.in_shard, piece.count).equal(expected));
      }
      EXPECT_TRUE(here.narrow(0, map.whole_size - 3, 3).equal(at::full({3}, -1, dtype)));
    });
    EXPECT_THAT(errors, Each(""));
  }
  delayed::plant({});
  EXPECT_EQ(done.planted_ns, cost_ns * static_cast<std::int64_t>(done.launched.size()));
  return done;
}

TEST(ShardsOverNccl, TakeAsManyLaunchesForElevenWeightsOnEightRanksAsForOneOnTwo) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Done few = sum_and_gather({{32, 6}}, 2, dtype), many = sum_and_gather(even_layer, 8, dtype);

    for (const Done& done : {few, many}) {
      EXPECT_THAT(done.launched,
                  UnorderedElementsAre("copy_pieces", "ncclReduceScatter", "ncclAllGather", "copy_pieces"));
    }
    EXPECT_EQ(few.planted_ns, many.planted_ns);  // 4 launches, where a copy for each piece took 178
  }
}

TEST(ShardsOverNccl, MayBeOfAnyLengthAndEmpty) {
  for (const int ranks : {2, 3, 5, 8}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, " << dtype);
      const Done done = sum_and_gather(odd_layer, ranks, dtype);
      EXPECT_EQ(std::count(done.launched.begin(), done.launched.end(), "copy_pieces"), 2);
    }
  }
}

}  // namespace
}  // namespace d9d::nccl
