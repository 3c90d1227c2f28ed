#include "runtime/mesh/plan.hpp"

#include <gmock/gmock.h>

#include <set>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceMeshParameters two_by_two() {
  DeviceMeshParameters parameters;
  parameters.pipeline_parallel = 2;
  parameters.data_parallel_replicate = 2;
  return parameters;
}

TEST(Plan, NumbersRanksNodeByNode) {
  const Plan plan(two_by_two(), {1, 3});

  EXPECT_EQ(plan.placement(1).node, 1);
  EXPECT_EQ(plan.placement(1).local_index, 0);
  EXPECT_EQ(plan.placement(3).local_index, 2);
  EXPECT_THAT(plan.ranks_of_node(1), ElementsAre(1, 2, 3));
}

TEST(Plan, GivesEachRankItsStageAndItsDataRank) {
  const Plan plan(two_by_two(), {4});

  EXPECT_EQ(plan.placement(2).pipeline, 1);
  EXPECT_EQ(plan.placement(2).data, 0);
  EXPECT_EQ(plan.placement(3).data, 1);
}

TEST(Plan, NamesAGroupAlikeOnAllItsMembers) {
  const Plan plan(two_by_two(), {2, 2});

  const Group seen_from_0 = plan.group(0, "regular", {"pp"});
  const Group seen_from_2 = plan.group(2, "regular", {"pp"});

  EXPECT_EQ(seen_from_0.name, "pp[0,2]");
  EXPECT_EQ(seen_from_2.name, seen_from_0.name);
  EXPECT_THAT(seen_from_2.ranks, ElementsAre(0, 2));
  EXPECT_EQ(seen_from_2.index, 1);
}

// CORE-14
TEST(Plan, GroupsTheRanksOfAHost) {
  const Plan plan(two_by_two(), {1, 1, 2}, {7, 7, 0});

  const Group first = plan.group(1, domain_with({"host"}, plan.domains()), {"host"});
  EXPECT_EQ(first.name, "host[0,1]");
  EXPECT_EQ(first.index, 1);
  EXPECT_FALSE(first.one_node);
  EXPECT_THAT(plan.ranks_of_host(3), ElementsAre(2, 3));
  EXPECT_THAT(Plan(two_by_two(), {2, 2}).ranks_of_host(1), ElementsAre(0, 1))
      << "nothing is known of the hosts";
}

TEST(Plan, KnowsWhichGroupsStayOnANode) {
  const Plan plan(two_by_two(), {2, 2});

  EXPECT_TRUE(plan.group(0, "batch", {"dp"}).one_node);
  EXPECT_FALSE(plan.group(0, "regular", {"pp"}).one_node);
}

TEST(Plan, ListsOnlyGroupsWithCompany) {
  const Plan alone({}, {1});
  EXPECT_TRUE(alone.groups_of(0).empty());

  const Plan plan(two_by_two(), {4});
  EXPECT_THAT(plan.groups_of(3), testing::Contains(testing::Field(&Group::name, "dp[2,3]")));
}

TEST(Plan, RefusesNodesThatDoNotMatchTheMesh) {
  EXPECT_THROW(Plan(two_by_two(), {2, 1}), Error);
  EXPECT_THROW(Plan(two_by_two(), {4, 0}), Error);
}

TEST(Plan, NamesAllGroupsOfALargeMeshDifferently) {
  DeviceMeshParameters parameters;
  parameters.pipeline_parallel = 8;
  parameters.data_parallel_replicate = 4;
  parameters.data_parallel_shard = 16;
  parameters.tensor_parallel = 8;
  parameters.expert_parallel = 64;
  const Plan plan(parameters, std::vector<int>(512, 8));
  std::set<std::string> names;
  std::size_t groups = 0;

  for (const GroupRole& role : standard_group_roles()) {
    for (const std::vector<int>& ranks : plan.domains().mesh_for(role.domain).groups(role.axes)) {
      names.insert(plan.group(ranks.front(), role.domain, role.axes).name);
      ++groups;
    }
  }

  EXPECT_EQ(plan.world_size(), 4096);
  EXPECT_EQ(names.size(), groups);
  EXPECT_THAT(plan.text(), HasSubstr(".. 4032 more .."));
}

TEST(Plan, HasGroupsOfExpertsForModelsThatHaveSome) {
  const Plan plan(two_by_two(), {4});

  EXPECT_THAT(plan.text(true), HasSubstr("gradients of experts"));
  EXPECT_THAT(plan.text(false), testing::Not(HasSubstr("experts")));
}

TEST(Plan, PrintsMeshGroupsAndRanks) {
  const std::string text = Plan(two_by_two(), {2, 2}).text();

  EXPECT_THAT(text, HasSubstr("4 ranks on 2 nodes"));
  EXPECT_THAT(text, HasSubstr("pp=2 dp_replicate=2"));
  EXPECT_THAT(text, HasSubstr("rank 3     node 1    local 1   pp 1   dp 1"));
}

TEST(Plan, NamesShardsAndSplitTokensOnlyWhereTheMeshHasThem) {
  const std::string replicas = Plan(two_by_two(), {4}).text();
  DeviceMeshParameters sharded = two_by_two();
  sharded.data_parallel_shard = 2;
  sharded.context_parallel_replicate = 2;
  const std::string shards = Plan(sharded, {16}).text();

  EXPECT_THAT(replicas, HasSubstr("gradients of replicated dense parameters"));
  EXPECT_THAT(replicas, testing::Not(HasSubstr("sharded dense parameters")));
  EXPECT_THAT(replicas, testing::Not(HasSubstr("where tokens are split")));
  EXPECT_THAT(shards, HasSubstr("gradients of sharded dense parameters"));
  EXPECT_THAT(shards, HasSubstr("blocks of sharded dense parameters"));
  EXPECT_THAT(shards, HasSubstr("where tokens are split"));
}

}  // namespace
}  // namespace d9d
