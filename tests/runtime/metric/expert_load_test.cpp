#include "runtime/metric/expert_load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::Pair;
using Tokens = std::array<std::int64_t, 4>;

TEST(ExpertLoad, ComparesTheLargestAndTheSmallestExpertWithTheMeanOfTheMostUnevenLayer) {
  ExpertLoad load(/*num_layers=*/3, /*num_experts=*/4, /*each_layer=*/false);

  load.update(1, Tokens{4, 4, 4, 4});
  load.update(2, Tokens{2, 9, 4, 1});

  EXPECT_THAT(load.compute(), ElementsAre(Pair("max_over_mean", 9.0 / 4), Pair("min_over_mean", 1.0 / 4)));
}

TEST(ExpertLoad, ReportsEachLayerThatHasTokens) {
  ExpertLoad load(3, 4, /*each_layer=*/true);

  load.update(0, Tokens{1, 1, 1, 5});
  load.update(2, Tokens{2, 2, 2, 2});

  EXPECT_THAT(load.compute(),
              ElementsAre(Pair("max_over_mean", 2.5), Pair("min_over_mean", 0.5),
                          Pair("layer_0/max_over_mean", 2.5), Pair("layer_0/min_over_mean", 0.5),
                          Pair("layer_2/max_over_mean", 1.0), Pair("layer_2/min_over_mean", 1.0)));
}

// One expert of each rank is the only one there; of both ranks none is.
TEST(ExpertLoad, IsThatOfAllRanksTogether) {
  ExpertLoad first(1, 4, false), second(1, 4, false);
  first.update(0, Tokens{8, 0, 0, 0});
  second.update(0, Tokens{0, 8, 8, 8});

  std::vector<double> sum = first.state();
  combine_states(first.layout(), sum, second.state());

  EXPECT_THAT(first.compute(sum), ElementsAre(Pair("max_over_mean", 1.0), Pair("min_over_mean", 1.0)));
}

TEST(ExpertLoad, AddsUpUntilItIsReset) {
  ExpertLoad load(1, 4, false);
  load.update(0, Tokens{1, 2, 3, 4});
  load.update(0, Tokens{1, 2, 3, 4});
  EXPECT_THAT(load.state(), ElementsAre(2, 4, 6, 8));

  load.reset();

  EXPECT_THAT(load.state(), ElementsAre(0, 0, 0, 0));
  for (const auto& [name, value] : load.compute()) EXPECT_TRUE(std::isnan(value)) << name;
}

TEST(ExpertLoad, RefusesALayerOrExpertsThatWereNotDeclared) {
  ExpertLoad load(1, 4, false);

  EXPECT_THROW(load.update(1, Tokens{}), Error);
  EXPECT_THROW(load.update(0, std::array<std::int64_t, 3>{}), Error);
}

}  // namespace
}  // namespace d9d
