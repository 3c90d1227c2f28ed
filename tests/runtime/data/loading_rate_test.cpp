#include "runtime/data/loading_rate.hpp"

#include <gtest/gtest.h>

#include <set>

#include "runtime/data/sample_source.hpp"

namespace d9d {
namespace {

// Four tokens, three of them with a label; notes which samples are read.
class Noting final : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return 6; }
  std::int64_t sequence_length() const override { return 4; }
  Sample at(std::uint64_t index) const override {
    read.insert(index);
    return {{1, 2, 3, 4}, {2, 3, 4, ignored_label}};
  }
  mutable std::set<std::uint64_t> read;
};

TEST(LoadingRate, CountsTokensAndLabelsOfAtLeastOneMicrobatch) {
  const Noting source;

  const LoadingRate rate = loading_rate(source, batch_maths(4, 2, 2), nullptr, std::chrono::milliseconds(0));

  EXPECT_EQ(rate.tokens, 8U);
  EXPECT_EQ(rate.counted, 6U);
  EXPECT_GT(rate.tokens_per_second(), 0);
  EXPECT_EQ(source.read, (std::set<std::uint64_t>{0, 1}));
}

TEST(LoadingRate, GoesOnThroughTheStepsOfTheFirstDataRank) {
  const Noting source;

  const LoadingRate rate = loading_rate(source, batch_maths(4, 1, 2), nullptr, std::chrono::milliseconds(50));

  ASSERT_GE(rate.tokens, 4U * 4) << "two steps";
  EXPECT_TRUE(source.read.contains(4)) << "the second step's";
  EXPECT_FALSE(source.read.contains(2)) << "of the other rank";
}

}  // namespace
}  // namespace d9d
