#include "runtime/comm/nccl/launch_order.hpp"

#include <gmock/gmock.h>

namespace d9d::nccl {
namespace {

using testing::Eq;
using testing::Optional;

Launched tp(std::uint64_t number, const std::string& what = "all_reduce") {
  return {"tp[0,1]", number, what};
}
Launched dp(std::uint64_t number) {
  return {"dp[0,1]", number, "all_reduce"};
}
const std::set<std::string> both{"tp[0,1]", "dp[0,1]"};

TEST(LaunchOrder, AgreesWhereRanksLaunchedTheSame) {
  EXPECT_EQ(difference({{0, both, {tp(1), dp(1)}}, {1, both, {tp(1), dp(1)}}}), std::nullopt);
}

TEST(LaunchOrder, NamesTheRankOfAnotherOrder) {
  EXPECT_THAT(difference({{0, both, {tp(1), dp(1)}}, {1, both, {dp(1), tp(1)}}}),
              Optional(Eq("rank 1 launched all_reduce number 1 of group dp[0,1] where rank 0 launched "
                          "all_reduce number 1 of group tp[0,1]")));
}

TEST(LaunchOrder, NamesTheRankThatIsBehind) {
  EXPECT_THAT(difference({{0, both, {tp(1), tp(2)}}, {1, both, {tp(1)}}}),
              Optional(Eq("rank 1 has not launched all_reduce number 2 of group tp[0,1]")));
}

TEST(LaunchOrder, ReportsAnotherOrderBeforeWhatIsStillToCome) {
  const auto found =
      difference({{0, both, {tp(1), dp(1)}}, {1, both, {tp(1)}}, {2, both, {tp(1, "broadcast"), dp(1)}}});

  EXPECT_THAT(found, Optional(testing::HasSubstr("rank 2 launched broadcast number 1")));
}

TEST(LaunchOrder, LeavesOutGroupsThatOnlyOneOfTwoIsIn) {
  EXPECT_EQ(difference({{0, both, {dp(1), tp(1)}}, {1, {"tp[0,1]"}, {tp(1)}}}), std::nullopt);
}

TEST(LaunchOrder, ComparesFromWhereBothHistoriesAreWhole) {
  EXPECT_EQ(difference({{0, both, {tp(1), dp(1), tp(2)}}, {1, both, {dp(1), tp(2)}}}), std::nullopt);
}

TEST(LaunchOrder, KeepsTheLastLaunchesAndTravelsAsText) {
  LaunchOrder order(7);
  order.join("tp[0,1]");
  order.join("dp[0,1]");
  order.leave("dp[0,1]");
  for (std::uint64_t i = 1; i <= 1000; ++i) order.add(tp(i));

  const LaunchHistory read = decode_history(encode(order.history()));

  EXPECT_EQ(read.rank, 7);
  EXPECT_EQ(read.groups, std::set<std::string>{"tp[0,1]"});
  EXPECT_EQ(read.launched.size(), 128U);
  EXPECT_EQ(read.launched.back(), tp(1000));
}

}  // namespace
}  // namespace d9d::nccl
