#include "runtime/nn/size/layer_balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "runtime/nn/size/stage_layers.hpp"

namespace d9d {
namespace {

using Ranges = std::vector<LayerRange>;

struct Quality {
  double dearest = 0;
  double squares = 0;
};

Quality quality(const LayerCosts& costs, const Ranges& ranges) {
  Quality q;
  for (std::size_t stage = 0; stage < ranges.size(); ++stage) {
    double cost = (stage == 0 ? costs.pre : 0) + (stage + 1 == ranges.size() ? costs.post : 0);
    for (auto layer = ranges[stage].begin; layer < ranges[stage].end; ++layer) {
      cost += costs.layers[static_cast<std::size_t>(layer)];
    }
    q.dearest = std::max(q.dearest, cost);
    q.squares += cost * cost;
  }
  return q;
}

// Tries every split.
void best_of_all(const LayerCosts& costs, Ranges so_far, int stages_left, Quality& best) {
  const auto layers = static_cast<std::int64_t>(costs.layers.size());
  const std::int64_t begin = so_far.empty() ? 0 : so_far.back().end;
  if (stages_left == 0) {
    if (begin != layers) return;
    const Quality q = quality(costs, so_far);
    const bool even = q.dearest < best.dearest + 1e-12 && q.squares < best.squares;
    if (q.dearest < best.dearest - 1e-12 || even) best = q;
    return;
  }
  for (std::int64_t end = begin + 1; end <= layers; ++end) {
    Ranges longer = so_far;
    longer.push_back({begin, end});
    best_of_all(costs, longer, stages_left - 1, best);
  }
}

TEST(LayerBalance, FindsTheBestOfAllSplits) {
  const RandomStream random(1, "layer balance test");
  std::uint64_t draws = 0;
  for (int round = 0; round < 60; ++round) {
    LayerCosts costs;
    const auto layers = static_cast<int>(1 + random.below(draws++, 9));
    for (int layer = 0; layer < layers; ++layer) costs.layers.push_back(0.1 + random.uniform(draws++));
    costs.pre = random.uniform(draws++);
    costs.post = 3 * random.uniform(draws++);
    for (int stages = 1; stages <= layers; ++stages) {
      Quality best{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
      best_of_all(costs, {}, stages, best);

      const Quality got = quality(costs, balance_layers(costs, stages));

      EXPECT_NEAR(got.dearest, best.dearest, 1e-9) << layers << " layers on " << stages;
      EXPECT_NEAR(got.squares, best.squares, 1e-9) << layers << " layers on " << stages;
    }
  }
}

TEST(LayerBalance, IsEvenWhereAllLayersCostTheSame) {
  EXPECT_EQ(balance_layers({0, std::vector<double>(8, 1), 0}, 4), (Ranges{{0, 2}, {2, 4}, {4, 6}, {6, 8}}));
  EXPECT_EQ(balance_layers({0, std::vector<double>(8, 1), 2}, 2), (Ranges{{0, 5}, {5, 8}}));
}

TEST(LayerBalance, RefusesMoreStagesThanLayers) {
  EXPECT_THROW(balance_layers({0, {1, 1}, 0}, 3), Error);
  EXPECT_THROW(balance_layers({0, {1, 1}, 0}, 0), Error);
}

Qwen3Config small_model() {
  Qwen3Config config;
  config.hidden_size = 64;
  config.intermediate_size = 128;
  config.num_hidden_layers = 12;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 16;
  config.vocab_size = 4096;
  return config;
}

StageSplit by_costs(const ModelDescription& config, std::int64_t length) {
  return {layer_costs(config, length)};
}

TEST(StageLayers, ByCostsGiveTheStageWithTheHeadFewerLayers) {
  const Qwen3Config config = small_model();
  const auto dearest = [&](const StageSplit& split) {
    double most = 0;
    for (int stage = 0; stage < 3; ++stage)
      most = std::max(most, training_flops_per_token(config, 64, {stage, 3}, split));
    return most;
  };

  const Ranges even = layers_of_stages(config, 3);
  const Ranges balanced = layers_of_stages(config, 3, by_costs(config, 64));

  EXPECT_EQ(even, (Ranges{{0, 4}, {4, 8}, {8, 12}}));
  EXPECT_LT(balanced.back().size(), 4);
  EXPECT_LT(dearest(by_costs(config, 64)), dearest({}));
  EXPECT_EQ(count_parameters(config, {2, 3}, by_costs(config, 64)).total,
            balanced.back().size() * count_layer_parameters(config, 0).total + 64 + 4096 * 64);
}

TEST(StageLayers, CostsAddUpToThoseOfTheModel) {
  const LayerCosts costs = layer_costs(small_model(), 100);

  double sum = costs.pre + costs.post;
  for (const double layer : costs.layers) sum += layer;

  EXPECT_DOUBLE_EQ(sum, training_flops_per_token(small_model(), 100));
}

TEST(StageLayers, VirtualLayersCountInASplitByCostsToo) {
  Qwen3Config config = small_model();
  config.vocab_size = 1;
  config.pipeline_num_virtual_layers_pre = 4;

  EXPECT_EQ(layers_of_stages(config, 2, by_costs(config, 1)), (Ranges{{0, 4}, {4, 12}}));
}

}  // namespace
}  // namespace d9d
