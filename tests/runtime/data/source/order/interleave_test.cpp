#include "runtime/data/source/order/interleave.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;

std::vector<std::size_t> first_parts(const Interleave& order, std::uint64_t count) {
  std::vector<std::size_t> parts;
  for (std::uint64_t i = 0; i < count; ++i) parts.push_back(order.at(i).part);
  return parts;
}

TEST(Interleave, SpreadsThePartsByTheirWeights) {
  EXPECT_THAT(first_parts(Interleave({1, 1}), 6), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(first_parts(Interleave({0.75, 0.25}), 8), ElementsAre(0, 0, 1, 0, 0, 0, 1, 0));
  EXPECT_THAT(first_parts(Interleave({2}), 3), ElementsAre(0, 0, 0));
}

TEST(Interleave, GivesEveryTurnOnceInOrderAndNearItsShare) {
  for (const std::vector<double>& weights : {std::vector<double>{0.7, 0.3},
                                             {5, 1, 1, 3, 0.01},
                                             {1, 1, 1, 1, 1, 1, 1},
                                             {1e-5, 1},
                                             {0.1, 0.2, 0.3}}) {
    const Interleave order(weights);
    double all = 0;
    for (const double weight : weights) all += weight;
    std::vector<std::uint64_t> taken(weights.size());
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const Interleave::Turn turn = order.at(i);
      ASSERT_EQ(turn.number, taken[turn.part]++) << "sample " << i;
      ASSERT_EQ(order.sample_of(turn), i);
      const double share = weights[turn.part] / all * static_cast<double>(i + 1);
      ASSERT_LE(std::abs(static_cast<double>(taken[turn.part]) - share),
                static_cast<double>(weights.size()) / 2 + 0.5);
    }
  }
}

TEST(Interleave, WorksFarOut) {
  const Interleave order({0.6, 0.3, 0.1});
  const std::uint64_t far = (std::uint64_t{1} << 40) - 100;

  for (std::uint64_t i = far; i < far + 100; ++i) EXPECT_EQ(order.sample_of(order.at(i)), i);
  EXPECT_THROW(order.at(far + 100), Error);
}

TEST(Interleave, RefusesWeightsThatItCannotKeep) {
  EXPECT_THROW(Interleave({1, 0}), Error);
  EXPECT_THROW(Interleave({1, -1}), Error);
  EXPECT_THROW(Interleave({1, 1e-7}), Error);
  EXPECT_THROW(Interleave({1, INFINITY}), Error);
}

}  // namespace
}  // namespace d9d
