#include "runtime/comm/rank_group.hpp"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <mutex>

#include "runtime/base/error.hpp"
#include "tests/runtime/comm/world.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Communicators of the world outlive the groups.
RankGroup group_of(Communicator& communicator) {
  return RankGroup(std::shared_ptr<Communicator>(std::shared_ptr<void>(), &communicator));
}

TEST(RankGroup, HasTheOperationsOnValuesShapesAndObjects) {
  CommWorld world({.size = 3});
  world.run([](Communicator& communicator) {
    const RankGroup group = group_of(communicator);
    const int rank = group.rank();

    EXPECT_EQ(group.all_reduce(rank + 1.0), 6.0);
    EXPECT_EQ(group.all_reduce(rank + 1.0, ReduceOp::max), 3.0);
    const auto tensors = group.all_gather(at::full({rank + 1}, rank, at::kLong));
    EXPECT_EQ(tensors.at(2).numel(), 3);
    EXPECT_EQ(group.gather(tensors.at(0), 1).size(), rank == 1 ? 3U : 0U);
    const auto objects = group.all_gather_object({{"rank", rank}, {"text", std::string(rank * 7, 'x')}});
    EXPECT_EQ(objects.at(2).at("text"), std::string(14, 'x'));
    EXPECT_EQ(group.broadcast_object({{"from", rank}}, 2).at("from"), 2);
    group.barrier();
  });
}

TEST(RankGroup, RunsSectionsInOrder) {
  CommWorld world({.size = 3});
  std::mutex mutex;
  std::vector<int> first, turns;
  world.run([&](Communicator& communicator) {
    const RankGroup group = group_of(communicator);
    const auto note = [&](std::vector<int>& list) {
      const std::lock_guard lock(mutex);
      list.push_back(group.rank());
    };

    group.first_then_others([&] { note(first); });
    group.in_turn([&] { note(turns); });
  });

  EXPECT_EQ(first.size(), 3U);
  EXPECT_EQ(first.front(), 0);
  EXPECT_THAT(turns, ElementsAre(0, 1, 2));
}

TEST(RankGroup, AFailureOfTheFirstEndsTheWaitOfTheOthers) {
  CommWorld world({.size = 2});
  const auto errors = world.run_and_collect([](Communicator& communicator) {
    group_of(communicator).first_then_others([] { throw Error(ErrorKind::input, "no such file"); });
  });

  ASSERT_EQ(errors.size(), 2U);
  EXPECT_THAT(errors[0], HasSubstr("no such file"));
  EXPECT_THAT(errors[1], AllOf(HasSubstr("rank 0 of the group"), HasSubstr("no such file")));
}

TEST(RankGroup, OfOneRankTalksToItself) {
  const RankGroup alone(nullptr);
  int runs = 0;
  alone.first_then_others([&] { ++runs; });

  EXPECT_EQ(runs, 1);
  EXPECT_EQ(alone.all_reduce(5), 5);
  EXPECT_EQ(alone.all_gather_object({{"a", 1}}).size(), 1U);
}

}  // namespace
}  // namespace d9d
