// ALiBi and buckets of distances beside transformers' Bloom and T5.
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/attention/distance_bias.hpp"
#include "kernels/attention/score_bias.hpp"

namespace d9d::kernels {
namespace {

nlohmann::json expected() {
  std::ifstream file(D9D_SOURCE_DIR "/tests/golden/position_bias/expect.json");
  return nlohmann::json::parse(file);
}

TEST(PositionBias, Mod32SlopesAreThoseOfBloom) {
  const auto all = expected()["slopes"];
  ASSERT_EQ(all.size(), 17U);
  for (const auto& [heads, slopes] : all.items()) {
    const std::vector<double> got = alibi_slopes(std::stoll(heads));

    ASSERT_EQ(got.size(), slopes.size()) << heads;
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i] / slopes[i].get<double>(), 1, 1e-6) << heads << " heads, " << i;
  }
  EXPECT_ANY_THROW(alibi_slopes(0));
}

TEST(PositionBias, Mod32BucketsAreThoseOfT5) {
  const auto all = expected();
  const std::int64_t reach = all["reach"];
  for (const auto& one : all["buckets"]) {
    for (std::int64_t distance = -reach; distance <= reach; ++distance) {
      EXPECT_EQ(distance_bucket(distance, one["buckets"], one["longest"], one["both_ways"]),
                one["of"][static_cast<std::size_t>(distance + reach)].get<std::int64_t>())
          << one["buckets"] << " buckets, distance " << distance;
    }
  }
}

void append(const nlohmann::json& rows, std::vector<float>& to) {
  if (rows.is_number()) return to.push_back(rows.get<float>());
  for (const auto& row : rows) append(row, to);
}
at::Tensor tensor_of(const nlohmann::json& rows) {
  std::vector<std::int64_t> sizes;
  for (const auto* part = &rows; part->is_array(); part = &part->front()) sizes.push_back(std::ssize(*part));
  std::vector<float> values;
  append(rows, values);
  return at::tensor(values).view(sizes);
}

TEST(PositionBias, Mod32LearnedBiasesAndTheirGradientsAreThoseOfT5) {
  const auto all = expected()["biases"];
  for (const bool both_ways : {true, false}) {
    const auto& one = all[both_ways ? "both_ways" : "causal"];
    const at::Tensor table = tensor_of(one["table"]).requires_grad_();
    constexpr std::int64_t queries = 6, keys = 9, first_query = 3;
    const at::Tensor one_hot = at::zeros({table.size(0), queries + keys - 1});
    for (std::int64_t w = 0; w < one_hot.size(1); ++w)
      one_hot[distance_bucket(w - (first_query + queries - 1), table.size(0), 20, both_ways)][w] = 1;

    const at::Tensor by_distance = bucketed_bias(table, one_hot);
    const at::Tensor bias = bias_of_part({by_distance, true}, {queries, 0, queries, 0, keys}, at::kFloat);
    const at::Tensor of_distances = at::zeros_like(by_distance);
    add_bias_gradient(of_distances, tensor_of(one["upstream"]), {queries, 0, queries, 0, keys}, true);
    by_distance.backward(of_distances);

    EXPECT_TRUE(at::allclose(bias, tensor_of(one["bias"]), 1e-6, 1e-7)) << both_ways;
    EXPECT_TRUE(at::allclose(table.grad(), tensor_of(one["gradient"]), 1e-6, 1e-6)) << both_ways;
  }
}

}  // namespace
}  // namespace d9d::kernels
