#include "runtime/pipeline/lane/compute_lanes.hpp"

#include <ATen/ops/full.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <numeric>
#include <stdexcept>

#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/pipeline/lane/lane_communicator.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

TEST(ComputeLanes, AlternateWhereTheyWaitAndNeverComputeAtATime) {
  ComputeLanes lanes;
  Words said;  // not guarded: a race here is a finding of the thread sanitizer
  const auto lane = [&](const char* name, int waits) {
    return [&, name, waits] {
      for (int i = 0; i < waits; ++i) {
        said.push_back(name + std::to_string(i));
        const ComputeLanes::YieldWhileWaiting waits(lanes);
      }
      said.push_back(std::string(name) + " ends");
    };
  };

  lanes.run(lane("a", 3), lane("b", 1));

  EXPECT_THAT(said, ElementsAre("a0", "b0", "a1", "b ends", "a2", "a ends"));
}

TEST(ComputeLanes, OneComputesWhileTheOtherWaits) {
  ComputeLanes lanes;
  std::latch other_computed(1);

  lanes.run(
      [&] {
        const ComputeLanes::YieldWhileWaiting waits(lanes);
        other_computed.wait();  // never, unless the second lane runs meanwhile
      },
      [&] { other_computed.count_down(); });
}

TEST(ComputeLanes, KnowTheirThreads) {
  ComputeLanes lanes;
  std::optional<int> first, second, elsewhere = 7;

  lanes.run([&] { first = lanes.current(); }, [&] { second = lanes.current(); });
  std::thread([&] {
    const ComputeLanes::YieldWhileWaiting waits(lanes);
    elsewhere = lanes.current();
  }).join();

  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(elsewhere, std::nullopt);
}

TEST(ComputeLanes, ALaneAloneKeepsItsTurn) {
  ComputeLanes lanes;
  int begun = 0;
  ComputeLanes settled([&] { ++begun; });

  { const ComputeLanes::YieldWhileWaiting waits(lanes); }
  settled.run([] {}, [] {});
  settled.run([] {}, [] {});

  EXPECT_EQ(begun, 1);
}

TEST(ComputeLanes, CarryTheErrorOfEitherLaneAndGoOnAfter) {
  ComputeLanes lanes;
  bool other_ended = false;
  const auto fails = [&](const char* text) {
    return [&, text] {
      { const ComputeLanes::YieldWhileWaiting waits(lanes); }
      throw std::runtime_error(text);
    };
  };
  const auto ends = [&] {
    for (int i = 0; i < 5; ++i) const ComputeLanes::YieldWhileWaiting waits(lanes);
    other_ended = true;
  };
  const auto error_of = [&](const ComputeLanes::Piece& first, const ComputeLanes::Piece& second) {
    return test::error_of<std::exception>([&] { lanes.run(first, second); });
  };

  EXPECT_EQ(error_of(fails("one"), ends), "one");
  EXPECT_TRUE(std::exchange(other_ended, false));
  EXPECT_EQ(error_of(ends, fails("two")), "two");
  EXPECT_TRUE(other_ended);
  EXPECT_EQ(error_of(fails("one"), fails("two")), "one");
  EXPECT_EQ(error_of(ends, ends), "no error");
}

// Two ranks, threads of one process; each lane adds up its own numbers in as many operations as it likes.
TEST(LaneCommunicator, RanksMeetLaneByLaneInOneOrder) {
  constexpr int ranks = 2;
  SharedMemoryHub hub;
  std::vector<Words> said(ranks);
  const auto rank_body = [&](int rank) {
    ComputeLanes lanes;
    std::vector<std::shared_ptr<Communicator>> by_lane;
    for (const char* name : {"lane 0", "lane 1"}) {
      by_lane.push_back(hub.open({.name = name, .ranks = {0, 1}, .index = rank}, std::chrono::seconds(10)));
    }
    const auto group = make_lane_communicator(std::move(by_lane), lanes);
    const auto lane = [&](double value, int operations) {
      return [&, value, operations] {
        for (int i = 0; i < operations; ++i) {
          at::Tensor sum = at::full({1}, value * (rank + 1));
          said[static_cast<std::size_t>(rank)].push_back(fmt::format("{} {}", value, i));
          group->all_reduce(sum, ReduceOp::sum).wait();
          EXPECT_EQ(sum.item().toDouble(), 3 * value);
        }
      };
    };
    for (int step = 0; step < 20; ++step) lanes.run(lane(1, 3), lane(10, 7));
    lane(100, 1)();
  };

  std::thread other(rank_body, 1);
  rank_body(0);
  other.join();

  EXPECT_EQ(said[0].size(), 20U * 10 + 1);
  EXPECT_EQ(said[0], said[1]);
}

TEST(LaneCommunicator, AnAbortWakesBothLanes) {
  SharedMemoryHub hub;
  std::shared_ptr<Communicator> group;
  ComputeLanes lanes;
  std::vector<std::shared_ptr<Communicator>> by_lane;
  for (const char* name : {"lane 0", "lane 1"}) {
    by_lane.push_back(hub.open({.name = name, .ranks = {0, 1}, .index = 0}, std::chrono::seconds(10)));
  }
  group = make_lane_communicator(std::move(by_lane), lanes);
  std::latch waiting(1);
  std::thread aborts([&] {
    waiting.wait();
    group->abort("enough");
  });
  std::string second_error;

  EXPECT_ANY_THROW(lanes.run([&] { group->barrier(); },  // nobody else comes
                             [&] {
                               waiting.count_down();
                               try {
                                 group->barrier();
                               } catch (const std::exception& error) {
                                 second_error = error.what();
                                 throw;
                               }
                             }));
  aborts.join();

  EXPECT_THAT(second_error, ::testing::HasSubstr("enough"));
}

}  // namespace
}  // namespace d9d
