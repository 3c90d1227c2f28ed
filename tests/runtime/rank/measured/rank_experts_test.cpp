#include "runtime/rank/measured/rank_experts.hpp"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include "runtime/metric/expert_load.hpp"
#include "runtime/tensor/routed_stage.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "tests/runtime/rank/ranks_of_mesh.hpp"

namespace d9d {
namespace {

using test::on_each_rank;
using test::RankOfMesh;
using testing::ElementsAre;

// Two layers of two experts; remembers what it is told.
class CountingStage final : public StageModule, public RoutedStage {
 public:
  CountingStage(bool balances, std::int64_t rank)
      : balances_(balances),
        counts_{{1, at::tensor({rank, std::int64_t{10}})}, {3, at::tensor({rank + 1, rank})}} {}

  TensorMap forward(const TensorMap& /*inputs*/, const TensorMap& /*shared*/) override { return {}; }
  std::vector<StageParameter> parameters() override { return {}; }
  void set_training(bool /*training*/) override {}

  std::vector<RoutedTokens> routed_tokens() const override { return counts_; }
  bool balances_load() const override { return balances_; }
  void balance(const std::vector<RoutedTokens>& of_all_ranks) override { told = of_all_ranks; }
  void end_step() override { ++steps; }

  std::vector<RoutedTokens> told;
  int steps = 0;

 private:
  bool balances_;
  std::vector<RoutedTokens> counts_;
};

std::vector<std::int64_t> numbers(const at::Tensor& tokens) {
  return {tokens.const_data_ptr<std::int64_t>(), tokens.const_data_ptr<std::int64_t>() + tokens.numel()};
}

TEST(RankExperts, RoutersAreBalancedByTheTokensOfAllRanksOfTheStage) {
  on_each_rank({.data_parallel_replicate = 2, .tensor_parallel = 2}, [](const RankOfMesh& my) {
    CountingStage stage(/*balances=*/true, my.rank), other(/*balances=*/false, my.rank);
    RankExperts experts(my.domains, my.rank, my.open);
    experts.add(other);
    experts.add(stage);

    experts.end_step(/*update=*/true);

    ASSERT_EQ(stage.told.size(), 2U);
    EXPECT_EQ(stage.told[0].layer, 1);
    EXPECT_THAT(numbers(stage.told[0].tokens), ElementsAre(0 + 1 + 2 + 3, 40));
    EXPECT_EQ(stage.told[1].layer, 3);
    EXPECT_THAT(numbers(stage.told[1].tokens), ElementsAre(1 + 2 + 3 + 4, 0 + 1 + 2 + 3));
    EXPECT_TRUE(other.told.empty());
    EXPECT_EQ(stage.steps, 1);
    EXPECT_EQ(other.steps, 1);
  });
}

TEST(RankExperts, ASkippedUpdateBalancesNothing) {
  on_each_rank({.data_parallel_replicate = 2}, [](const RankOfMesh& my) {
    CountingStage stage(/*balances=*/true, my.rank);
    RankExperts experts(my.domains, my.rank, my.open);
    experts.add(stage);

    experts.end_step(/*update=*/false);

    EXPECT_TRUE(stage.told.empty());
    EXPECT_EQ(stage.steps, 1);
  });
}

TEST(RankExperts, TheMetricGetsThisRanksTokensOfEachLayer) {
  on_each_rank({.data_parallel_replicate = 1}, [](const RankOfMesh& my) {
    CountingStage stage(/*balances=*/false, my.rank);
    RankExperts experts(my.domains, my.rank, my.open);
    experts.add(stage);
    ExpertLoad load(4, 2, false);

    experts.count(load);

    EXPECT_THAT(load.state(), ElementsAre(0, 0, 0, 10, 0, 0, 1, 0));
  });
}

}  // namespace
}  // namespace d9d
