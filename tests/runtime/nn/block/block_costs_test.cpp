#include "runtime/nn/block/block_costs.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

constexpr AttentionOptions wide{
    .hidden_size = 8, .num_heads = 4, .num_kv_heads = 2, .head_dim = 6, .value_head_dim = 6, .window = 5};

TEST(BlockCosts, OfAttentionAreItsProjections) {
  const BlockCosts costs = attention_costs(wide);

  EXPECT_EQ(costs.products, 8 * (24 + 12 + 12 + 24));
  EXPECT_EQ(costs.attended, 24 + 24);
  EXPECT_EQ(attention_costs(wide, 2).products, costs.products / 2);
}

TEST(BlockCosts, OfALayerAreThoseOfItsBlocksButTheWindowOfItsAttention) {
  BlockCosts layer = attention_costs(wide);
  layer += swiglu_costs({8, 10});

  EXPECT_EQ(layer.products, attention_costs(wide).products + 3 * 8 * 10);
  EXPECT_EQ(layer.window, 5);
}

}  // namespace
}  // namespace d9d
