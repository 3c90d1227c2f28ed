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

// Of several ranks that share a head of keys each caches that head.
TEST(BlockCosts, OfCachesAreTheHeadsOfARank) {
  const AttentionOptions attention{
      .hidden_size = 64, .num_heads = 8, .num_kv_heads = 2, .head_dim = 16, .value_head_dim = 8};
  const LatentAttentionOptions latent{
      .hidden_size = 64, .num_heads = 4, .key_rank = 8, .plain_dim = 16, .rotary_dim = 8, .value_dim = 12};
  const DeltaNetOptions delta{.hidden_size = 64,
                              .num_key_heads = 2,
                              .num_value_heads = 4,
                              .key_head_dim = 8,
                              .value_head_dim = 16,
                              .taps = 4};

  EXPECT_EQ(attention_costs(attention).cached.of_token, 2 * (16 + 8));
  EXPECT_EQ(attention_costs(attention, 2).cached.of_token, 16 + 8);
  EXPECT_EQ(attention_costs(attention, 8).cached.of_token, 16 + 8);
  EXPECT_EQ(latent_attention_costs(latent, 2).cached.of_token, 2 * (24 + 12)) << "no latents";
  EXPECT_EQ(delta_net_costs(delta).cached.of_token, 0);
  EXPECT_EQ(delta_net_costs(delta).cached.of_sequence, 3 * (2 * 2 * 8 + 4 * 16));
  EXPECT_EQ(delta_net_costs(delta).cached.side, 4 * 4 * 8 * 16) << "float32";
  EXPECT_EQ(delta_net_costs(delta, 2).cached.side, 4 * 2 * 8 * 16);
}

TEST(BlockCosts, OfALayersWorkAreThoseOfItsLargestBlock) {
  BlockCosts layer = swiglu_costs({64, 256});
  const std::int64_t wide = layer.work.gathered;
  layer += swiglu_costs({64, 16});

  EXPECT_EQ(layer.work.gathered, wide);
  EXPECT_EQ(layer.cached.of_token, 0);
}

TEST(BlockCosts, OfALayerAreThoseOfItsBlocksButTheWindowOfItsAttention) {
  BlockCosts layer = attention_costs(wide);
  layer += swiglu_costs({8, 10});

  EXPECT_EQ(layer.products, attention_costs(wide).products + 3 * 8 * 10);
  EXPECT_EQ(layer.window, 5);
}

}  // namespace
}  // namespace d9d
