#include "runtime/job/plan/rank_plan.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

JobPlan plan_of(const LoadedJob& loaded) {
  return plan_job(loaded, loaded.job.trainer.pipelining.schedule);
}

std::vector<int> numbers_of(const std::vector<StagePlan>& stages) {
  std::vector<int> numbers;
  for (const StagePlan& stage : stages) numbers.push_back(stage.stage);
  return numbers;
}

// Two stages times two replicas: ranks 0 and 2 are one pipeline, 1 and 3 the other.
class RankPlanTest : public ::testing::Test {
 protected:
  RankPlan rank(int rank, const std::vector<int>& ranks_per_node, const std::vector<std::string>& keys = {}) {
    const LoadedJob loaded = testing_job::load(keys);
    return plan_rank(loaded.job, plan_of(loaded), Plan(loaded.job.mesh, ranks_per_node), rank);
  }
};

TEST_F(RankPlanTest, AJobDealsItsLayersToStages) {
  const JobPlan plan = plan_of(testing_job::load());

  ASSERT_EQ(plan.stages.size(), 2U);
  EXPECT_EQ(plan.stages[0].layers, (LayerRange{0, 2}));
  EXPECT_EQ(plan.stages[1].layers, (LayerRange{2, 4}));
  EXPECT_EQ(plan.stages[1].pipeline_rank, 1);
  EXPECT_EQ(plan.stages[1].parameters - plan.stages[0].parameters, 64) << "the last norm";
  EXPECT_EQ(plan.microbatches, 2);
}

TEST_F(RankPlanTest, AJobOfReplicasSumsGradientsOverThem) {
  EXPECT_FALSE(plan_of(testing_job::load()).gradient_groups.empty());
  EXPECT_THAT(plan_of(testing_job::load({"mesh.data_parallel_replicate=1"})).gradient_groups, IsEmpty());
}

TEST_F(RankPlanTest, ARankHoldsTheStagesOfItsCoordinate) {
  const std::vector<std::string> four_stages{
      "trainer.pipelining.schedule={schedule: 1f1b, num_stages_per_rank: 2}"};

  const RankPlan last = rank(3, {4}, four_stages);

  EXPECT_EQ(last.place.pipeline, 1);
  EXPECT_THAT(numbers_of(last.stages), ElementsAre(1, 3));
  EXPECT_THAT(last.rank_of_stage, ElementsAre(1, 3, 1, 3));
  EXPECT_THAT(numbers_of(rank(0, {4}, four_stages).stages), ElementsAre(0, 2));
}

TEST_F(RankPlanTest, RanksOfItsPipelineInOtherProcessesAreRemote) {
  EXPECT_THAT(rank(0, {4}).remote_ranks, IsEmpty());
  EXPECT_THAT(rank(0, {2, 2}).remote_ranks, ElementsAre(2));
  EXPECT_THAT(rank(3, {1, 3}).remote_ranks, IsEmpty()) << "its pipeline is ranks 1 and 3";
}

TEST_F(RankPlanTest, InDynamicOrderRanksThatTalkInsideActionsFollowOne) {
  const std::vector<std::string> tensor_parallel{"mesh.data_parallel_replicate=1", "mesh.tensor_parallel=2"};
  std::vector<std::string> dynamic = tensor_parallel;
  dynamic.emplace_back("trainer.pipelining.order=dynamic");

  EXPECT_THAT(rank(3, {4}, tensor_parallel).same_order, ElementsAre(3));
  EXPECT_THAT(rank(3, {4}, dynamic).same_order, ElementsAre(2, 3));
}

TEST_F(RankPlanTest, OneOfTheRanksThatSeeTheSameTokensCountsThem) {
  const std::vector<std::string> tensor_parallel{"mesh.data_parallel_replicate=1", "mesh.tensor_parallel=2"};

  EXPECT_TRUE(rank(0, {4}, tensor_parallel).counts_tokens);
  for (const int other : {1, 2, 3}) EXPECT_FALSE(rank(other, {4}, tensor_parallel).counts_tokens) << other;
}

}  // namespace
}  // namespace d9d
