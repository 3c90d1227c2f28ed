// What every backend owes its users. NCCL joins on machines that have it: see tests/runtime/devices/cuda.
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <cmath>

#include "runtime/comm/gather.hpp"
#include "tests/runtime/comm/world.hpp"
#include "tests/support/reduce_scalars.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

// Values that differ by rank and cannot be summed exactly.
at::Tensor noise(std::int64_t count, int rank, at::ScalarType dtype = at::kFloat) {
  at::Tensor values = at::empty({count}, at::kFloat);
  auto* data = values.data_ptr<float>();
  std::uint32_t bits = 12345U + rank;
  for (std::int64_t i = 0; i < count; ++i) {
    bits = bits * 1664525U + 1013904223U;
    data[i] = static_cast<float>(static_cast<std::int32_t>(bits)) / 3e8F;
  }
  return values.to(dtype);
}

// The contract's sum: neighbours paired, then pairs; half types in fp32.
at::Tensor paired_sum(std::int64_t count, int size, at::ScalarType dtype) {
  const at::ScalarType wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
  std::vector<at::Tensor> sums;
  for (int rank = 0; rank < size; ++rank) sums.push_back(noise(count, rank, dtype).to(wide));
  while (sums.size() > 1) {
    std::vector<at::Tensor> pairs;
    for (std::size_t i = 0; i < sums.size(); i += 2) {
      pairs.push_back(i + 1 < sums.size() ? sums[i].add(sums[i + 1]) : sums[i]);
    }
    sums = pairs;
  }
  return sums[0].to(dtype);
}

class EveryBackend : public testing::TestWithParam<CommWorldOptions> {
 protected:
  CommWorld world{GetParam()};
};

TEST_P(EveryBackend, SumsNeighboursInPairsToTheSameBits) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    for (const std::int64_t count : {0, 1, 63, 64, 65, 30'003}) {
      const at::Tensor expected = paired_sum(count, world.size(), dtype);
      world.run([&](Communicator& group) {
        at::Tensor tensor = noise(count, group.rank(), dtype);
        group.all_reduce(tensor, ReduceOp::sum).wait();
        EXPECT_TRUE(at::equal(tensor, expected)) << count << " of " << c10::toString(dtype);
      });
    }
  }
}

TEST_P(EveryBackend, SumsMoreThanOneSegment) {
  const std::int64_t count = (std::int64_t{9} << 20) / 4 + 17;
  const at::Tensor expected = paired_sum(count, world.size(), at::kFloat);

  world.run([&](Communicator& group) {
    at::Tensor tensor = noise(count, group.rank());
    group.all_reduce(tensor, ReduceOp::sum).wait();
    EXPECT_TRUE(at::equal(tensor, expected));
  });
}

TEST_P(EveryBackend, FindsMaximumAndMinimum) {
  world.run([&](Communicator& group) {
    at::Tensor high = at::full({1000}, group.rank(), at::kLong);
    at::Tensor low = at::full({3}, group.rank(), at::kInt);
    group.all_reduce(high, ReduceOp::max).wait();
    group.all_reduce(low, ReduceOp::min).wait();
    EXPECT_EQ(high[999].item<std::int64_t>(), group.size() - 1);
    EXPECT_EQ(low[0].item<int>(), 0);
  });
}

TEST_P(EveryBackend, KeepsANanInMaximumAndMinimum) {
  world.run([&](Communicator& group) {
    const double mine = group.rank() == 0 ? std::nan("") : 1.0;
    EXPECT_TRUE(std::isnan(test::all_reduce_scalars(group, {mine}, ReduceOp::max)[0]));
    EXPECT_TRUE(std::isnan(test::all_reduce_scalars(group, {mine}, ReduceOp::min)[0]));
  });
}

TEST_P(EveryBackend, ScattersTheSumByBlocks) {
  const std::int64_t block = 1000;
  const at::Tensor sum = paired_sum(block * world.size(), world.size(), at::kFloat);

  world.run([&](Communicator& group) {
    at::Tensor mine = at::empty({block});
    group.reduce_scatter(mine, noise(block * group.size(), group.rank()), ReduceOp::sum).wait();
    EXPECT_TRUE(at::equal(mine, sum.narrow(0, group.rank() * block, block)));
  });
}

TEST_P(EveryBackend, GathersBlocksInRankOrder) {
  world.run([&](Communicator& group) {
    at::Tensor all = at::zeros({group.size(), 5});
    group.all_gather(all, at::full({5}, group.rank() + 1.0)).wait();
    for (int rank = 0; rank < group.size(); ++rank) EXPECT_EQ(all[rank][4].item<float>(), rank + 1.0F);
  });
}

TEST_P(EveryBackend, GathersABlockThatIsInPlaceAlready) {
  world.run([&](Communicator& group) {
    at::Tensor all = at::zeros({group.size(), 5});
    at::Tensor mine = all.select(0, group.rank());
    mine.fill_(group.rank() + 1.0);
    group.all_gather(all, mine).wait();
    for (int rank = 0; rank < group.size(); ++rank) EXPECT_EQ(all[rank][0].item<float>(), rank + 1.0F);
  });
}

// Two tensors one after the other, 5 rows of 300 and `size` of 7, cut by rows; then 3 elements of nobody.
ShardMap two_tensors(int size) {
  ShardMap map{.shard_sizes = std::vector<std::int64_t>(static_cast<std::size_t>(size))};
  for (const auto& [rows, width] : {std::pair{5, 300}, std::pair{size, 7}}) {
    for (int rank = 0; rank < size; ++rank) {
      const std::int64_t count = (rows / size + (rank < rows % size ? 1 : 0)) * width;
      std::int64_t& shard = map.shard_sizes[static_cast<std::size_t>(rank)];
      if (count > 0) map.pieces.push_back({rank, map.whole_size, shard, count});
      map.whole_size += count;
      shard += count;
    }
  }
  map.whole_size += 3;
  return map;
}

TEST_P(EveryBackend, GathersShardsOfAnyLengthAndSumsIntoThem) {
  const ShardMap map = two_tensors(world.size());
  const at::Tensor sum = paired_sum(map.whole_size, world.size(), at::kFloat);

  world.run([&](Communicator& group) {
    at::Tensor shard = at::empty({map.shard_sizes[static_cast<std::size_t>(group.rank())]});
    group.sum_to_shards(shard, noise(map.whole_size, group.rank()), map).wait();
    at::Tensor whole = at::full({map.whole_size}, -1.0);
    group.gather_shards(whole, shard, map).wait();

    EXPECT_TRUE(at::equal(whole.narrow(0, 0, map.whole_size - 3), sum.narrow(0, 0, map.whole_size - 3)));
    EXPECT_EQ(whole[map.whole_size - 1].item<float>(), -1.0F);  // nobody's stay as they are
  });
}

// Rank r sends r + q rows to rank q (none from 0 to 0): what MoE dispatch does.
TEST_P(EveryBackend, ExchangesUnevenRowsAndEmptyOnes) {
  world.run([&](Communicator& group) {
    std::vector<std::int64_t> splits(group.size());
    std::int64_t rows = 0;
    for (int peer = 0; peer < group.size(); ++peer) rows += splits[peer] = group.rank() + peer;
    const at::Tensor input = at::full({rows, 3}, group.rank(), at::kDouble);
    at::Tensor output = at::full({rows, 3}, -1.0, at::kDouble);

    group.all_to_all(output, input, splits, splits).wait();

    std::int64_t row = 0;
    for (int peer = 0; peer < group.size(); ++peer) {
      for (int i = 0; i < splits[peer]; ++i) EXPECT_EQ(output[row++][2].item<double>(), peer);
    }
  });
}

TEST_P(EveryBackend, BroadcastsFromAnyRoot) {
  world.run([&](Communicator& group) {
    for (int root = 0; root < group.size(); ++root) {
      at::Tensor tensor = group.rank() == root ? noise(777, root) : at::zeros({777});
      group.broadcast(tensor, root).wait();
      EXPECT_TRUE(at::equal(tensor, noise(777, root)));
    }
  });
}

TEST_P(EveryBackend, KeepsManySmallOperationsInOrder) {
  world.run([&](Communicator& group) {
    for (int i = 0; i < 30; ++i) {
      if (i % 7 == 0) group.barrier();
      EXPECT_EQ(test::all_reduce_scalars(group, {1.0 * i, 1.0})[0], 1.0 * i * group.size());
    }
  });
}

TEST_P(EveryBackend, DeliversMessagesInOrderWhenAllSendFirst) {
  if (world.size() == 1) GTEST_SKIP() << "nobody to send to";
  world.run([&](Communicator& group) {
    const int next = (group.rank() + 1) % group.size();
    const int before = (group.rank() + group.size() - 1) % group.size();
    for (int i = 0; i < 4; ++i) group.send(at::full({1 << 18}, 10.0 * group.rank() + i), next, 3);
    for (int i = 0; i < 4; ++i) {
      at::Tensor got = at::empty({1 << 18});
      group.receive(got, before, 3).wait();
      EXPECT_EQ(got[(1 << 18) - 1].item<float>(), 10.0F * before + i);
    }
  });
}

TEST_P(EveryBackend, TellsMessagesApartByTag) {
  if (world.size() == 1) GTEST_SKIP() << "nobody to send to";
  // A message between two is no first call in a larger group.
  if (GetParam().backend == "late") world.run([](Communicator& group) { group.barrier(); });
  world.run([&](Communicator& group) {
    if (group.rank() == 0) {
      group.send(at::full({2}, 1.0), 1, 1);
      group.send(at::full({2}, 2.0), 1, 2);
    }
    if (group.rank() == 1) {
      at::Tensor first = at::empty({2}), second = at::empty({2});
      group.receive(second, 0, 2).wait();
      group.receive(first, 0, 1).wait();
      EXPECT_EQ(first[0].item<float>(), 1.0F);
      EXPECT_EQ(second[0].item<float>(), 2.0F);
    }
  });
}

// CORE-21
TEST_P(EveryBackend, GathersTensorsWhoseShapesDiffer) {
  world.run([&](Communicator& group) {
    const at::Tensor mine =
        group.rank() == 0 ? at::full({}, 5.0) : at::full({group.rank(), 3}, 1.0 * group.rank());
    const std::vector<at::Tensor> all = all_gather_variadic(group, mine);
    EXPECT_EQ(all[0].dim(), 0);
    EXPECT_EQ(all[0].item<float>(), 5.0F);
    for (int rank = 1; rank < group.size(); ++rank) {
      EXPECT_TRUE(at::equal(all[rank], at::full({rank, 3}, static_cast<double>(rank))));
    }
  });
}

// CORE-22, CORE-23
TEST_P(EveryBackend, GathersBytesAtTheRootOnly) {
  world.run([&](Communicator& group) {
    const int root = group.size() - 1;
    const std::vector<std::string> all = gather_bytes(group, std::string(group.rank(), 'x'), root);
    EXPECT_EQ(all.size(), group.rank() == root ? group.size() : 0U);
    for (std::size_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank], std::string(rank, 'x'));
  });
}

TEST_P(EveryBackend, RefusesEveryCallAfterAnAbortAndSaysWhy) {
  world.communicator(0).abort("the job stops");

  const std::vector<std::string> errors = world.run_and_collect([&](Communicator& group) {
    if (group.rank() == 0) group.barrier();
  });

  EXPECT_THAT(errors[0], HasSubstr("of group"));
  EXPECT_THAT(errors[0], HasSubstr("the job stops"));
}

TEST_P(EveryBackend, RefusesTensorsThatAreNotContiguous) {
  const std::vector<std::string> errors = world.run_and_collect([&](Communicator& group) {
    at::Tensor tensor = at::zeros({4, 4}).t();
    group.all_reduce(tensor, ReduceOp::sum).wait();
  });

  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("contiguous"));
}

std::string name_of_world(const testing::TestParamInfo<CommWorldOptions>& info) {
  const std::string name = info.param.backend + "_of_" + std::to_string(info.param.size);
  return info.param.checked ? "checked_" + name : name;
}

CommWorldOptions checked_world(const std::string& backend, int size) {
  return {.backend = backend, .size = size, .checked = true};
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryBackend,
                         testing::Values(CommWorldOptions{"single", 1}, CommWorldOptions{"shared_memory", 2},
                                         CommWorldOptions{"shared_memory", 3},
                                         CommWorldOptions{"shared_memory", 4}, CommWorldOptions{"sockets", 2},
                                         CommWorldOptions{"sockets", 3}, checked_world("sockets", 2),
                                         CommWorldOptions{"late", 3}, checked_world("late", 2),
                                         CommWorldOptions{"tls", 2}, CommWorldOptions{"tls", 3},
                                         checked_world("shared_memory", 3), CommWorldOptions{"hybrid", 4},
                                         CommWorldOptions{"hybrid", 6}, checked_world("hybrid", 4)),
                         name_of_world);

}  // namespace
}  // namespace d9d
