#include "runtime/mesh/domains.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceMeshParameters every_degree_two() {
  DeviceMeshParameters parameters;
  parameters.pipeline_parallel = 2;
  parameters.data_parallel_replicate = 2;
  parameters.data_parallel_shard = 2;
  parameters.context_parallel_shard = 2;
  parameters.context_parallel_replicate = 2;
  parameters.tensor_parallel = 2;
  parameters.expert_parallel = 8;
  return parameters;
}

// CORE-05 .. CORE-09
TEST(MeshDomains, HaveTheAxesOfTheReference) {
  const MeshDomains domains(every_degree_two());

  EXPECT_THAT(domains.mesh_for("regular").axis_names(),
              ElementsAre("pp", "dp_replicate", "dp_shard", "cp_shard", "cp_replicate", "tp"));
  EXPECT_THAT(domains.mesh_for("dense").axis_names(),
              ElementsAre("pp", "dp_replicate", "dp_cp_shard", "cp_replicate", "tp"));
  EXPECT_THAT(domains.mesh_for("dense").sizes(), ElementsAre(2, 2, 4, 2, 2));
  EXPECT_THAT(domains.mesh_for("batch").axis_names(), ElementsAre("pp", "dp", "cp", "tp"));
  EXPECT_THAT(domains.mesh_for("batch").sizes(), ElementsAre(2, 4, 4, 2));
  EXPECT_THAT(domains.mesh_for("flat").sizes(), ElementsAre(64));
}

// CORE-07 without tensor parallelism; with it the mesh still covers every rank (W-02).
TEST(MeshDomains, SpreadExpertsOverTheWholeStage) {
  DeviceMeshParameters parameters = every_degree_two();
  EXPECT_THAT(MeshDomains(parameters).mesh_for("expert").sizes(), ElementsAre(2, 4, 8));

  parameters.tensor_parallel = 1;
  EXPECT_THAT(MeshDomains(parameters).mesh_for("expert").sizes(), ElementsAre(2, 2, 8));
}

TEST(MeshDomains, NumberTheStagesOfARankAlikeInEveryDomain) {
  const MeshDomains domains(every_degree_two());

  for (int rank = 0; rank < domains.world_size(); ++rank) {
    for (const char* domain : {"regular", "dense", "expert", "batch"}) {
      EXPECT_EQ(domains.mesh_for(domain).coordinate(rank, "pp"), rank / 32);
    }
  }
}

TEST(MeshDomains, GiveAxesOfSizeOneToAJobOfOneRank) {
  EXPECT_THAT(MeshDomains({}).mesh_for("dense").sizes(), ElementsAre(1, 1, 1, 1, 1));
}

// CORE-10
TEST(MeshDomains, NameTheDomainsThereAreWhenOneIsUnknown) {
  EXPECT_THAT(test::error_of([&] { MeshDomains({}).mesh_for("moe"); }, ErrorKind::input),
              HasSubstr("regular, dense, expert, batch, flat"));
}

TEST(MeshDomains, TakeADomainOfOnesOwn) {
  std::vector<Domain> domains = standard_domains();
  domains.push_back({"halves", [](const DeviceMeshParameters& p) {
                       return Mesh({"half", "rest"}, {2, p.world_size() / 2});
                     }});

  EXPECT_THAT(MeshDomains(every_degree_two(), domains).mesh_for("halves").sizes(), ElementsAre(2, 32));
}

TEST(MeshDomains, RefuseADomainThatLeavesRanksOut) {
  const std::vector<Domain> domains = {
      {"torn", [](const DeviceMeshParameters&) { return Mesh({"x"}, {3}); }}};

  EXPECT_THROW(MeshDomains(every_degree_two(), domains), Error);
}

}  // namespace
}  // namespace d9d
