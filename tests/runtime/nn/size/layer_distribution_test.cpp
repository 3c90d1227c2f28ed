#include "runtime/nn/size/layer_distribution.hpp"

#include <gtest/gtest.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using LayerRanges = std::vector<LayerRange>;

TEST(LayerDistribution, DealsLayersEvenlyWithTheRemainderFirst) {
  EXPECT_EQ(distribute_layers(8, 4), (LayerRanges{{0, 2}, {2, 4}, {4, 6}, {6, 8}}));
  EXPECT_EQ(distribute_layers(7, 3), (LayerRanges{{0, 3}, {3, 5}, {5, 7}}));
  EXPECT_EQ(distribute_layers(5, 1), (LayerRanges{{0, 5}}));
}

TEST(LayerDistribution, TakesVirtualLayersOffTheEnds) {
  EXPECT_EQ(distribute_layers(6, 4, 1, 1), (LayerRanges{{0, 1}, {1, 3}, {3, 5}, {5, 6}}));
  EXPECT_EQ(distribute_layers(7, 3, 0, 2), (LayerRanges{{0, 3}, {3, 6}, {6, 7}}));
}

TEST(LayerDistribution, RefusesAStageWithoutLayers) {
  EXPECT_THROW(distribute_layers(3, 4), Error);
  EXPECT_THROW(distribute_layers(4, 4, 2, 0), Error);
  EXPECT_THROW(distribute_layers(4, 0), Error);
  EXPECT_THROW(distribute_layers(4, 2, -1, 0), Error);
}

}  // namespace
}  // namespace d9d
