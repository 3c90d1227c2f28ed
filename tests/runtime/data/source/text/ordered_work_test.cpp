#include "runtime/data/source/text/ordered_work.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace d9d {
namespace {

TEST(OrderedWork, IsUsedInTheOrderItWasGivenWhateverIsDoneFirst) {
  OrderedWork work(3);
  std::vector<int> made(200), used;

  for (int i = 0; i < 200; ++i) {
    work.give(
        [&made, i](std::size_t) {
          // Every third one takes longer than those after it.
          for (int turn = 0; turn < (i % 3 == 0 ? 20000 : 1); ++turn)
            made[static_cast<std::size_t>(i)] = turn * 0 + i;
        },
        [&, i] { used.push_back(made[static_cast<std::size_t>(i)]); });
  }
  work.finish();

  std::vector<int> expected(200);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(used, expected);
}

TEST(OrderedWork, ThrowsAnErrorInItsPlace) {
  OrderedWork work(2);
  std::vector<int> used;
  const auto give = [&](int i) {
    work.give(
        [i](std::size_t) {
          if (i == 3) throw std::runtime_error("three");
        },
        [&used, i] { used.push_back(i); });
  };

  for (int i = 0; i < 4; ++i) give(i);
  EXPECT_THROW(work.finish(), std::runtime_error);

  EXPECT_EQ(used, (std::vector<int>{0, 1, 2}));
}

TEST(OrderedWork, LeavesOutWhatHasNotBegunWhenItEnds) {
  std::vector<std::size_t> threads;
  {
    OrderedWork work(1);
    for (int i = 0; i < 2; ++i) work.give([](std::size_t) {}, [&] { threads.push_back(work.threads()); });
  }

  EXPECT_TRUE(threads.empty()) << "nothing is used without give() or finish()";
}

}  // namespace
}  // namespace d9d
