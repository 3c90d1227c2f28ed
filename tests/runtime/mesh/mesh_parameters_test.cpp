#include "runtime/mesh/mesh_parameters.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

std::string text_of_failure(const DeviceMeshParameters& parameters, int num_ranks) {
  return test::error_of([&] { parameters.validate(num_ranks); }, ErrorKind::input);
}

// CORE-01, CORE-02
TEST(DeviceMeshParameters, AreOneRankByDefault) {
  const DeviceMeshParameters parameters;

  EXPECT_EQ(parameters.world_size(), 1);
  EXPECT_FALSE(parameters.is_distributed());
  EXPECT_EQ(text_of_failure(parameters, 1), "no error");
}

TEST(DeviceMeshParameters, AreDistributedWhenAnyDegreeIsAboveOne) {
  DeviceMeshParameters parameters;
  parameters.context_parallel_replicate = 2;

  EXPECT_TRUE(parameters.is_distributed());
  EXPECT_TRUE(parameters.has_context_parallel_replicate());
  EXPECT_FALSE(parameters.has_context_parallel_shard());
}

// CORE-03: every degree of a stage counts as divisible material, tensor parallel too.
TEST(DeviceMeshParameters, LetExpertsSpreadOverAllRanksOfAStage) {
  DeviceMeshParameters parameters;
  parameters.pipeline_parallel = 3;
  parameters.data_parallel_shard = 2;
  parameters.tensor_parallel = 4;
  parameters.expert_parallel = 8;

  EXPECT_EQ(text_of_failure(parameters, 24), "no error");
}

TEST(DeviceMeshParameters, RefuseExpertsThatDoNotDivideAStageAndOfferDegreesThatDo) {
  DeviceMeshParameters parameters;
  parameters.pipeline_parallel = 2;
  parameters.data_parallel_replicate = 6;
  parameters.expert_parallel = 4;

  EXPECT_THAT(text_of_failure(parameters, 12), HasSubstr("choose one of 1, 2, 3, 6"));
}

TEST(DeviceMeshParameters, RefuseADegreeBelowOneByItsKey) {
  DeviceMeshParameters parameters;
  parameters.tensor_parallel = 0;

  EXPECT_THAT(text_of_failure(parameters, 1), HasSubstr("mesh.tensor_parallel = 0"));
}

TEST(DeviceMeshParameters, RefuseAWorldOfAnotherSizeAndSayWhatWouldFit) {
  DeviceMeshParameters parameters;
  parameters.pipeline_parallel = 2;
  parameters.data_parallel_replicate = 4;

  const std::string text = text_of_failure(parameters, 4);

  EXPECT_THAT(text, HasSubstr("pipeline_parallel (2) x data_parallel_replicate (4) = 8 ranks"));
  EXPECT_THAT(text, HasSubstr("start 8 ranks, or set mesh.data_parallel_replicate = 2"));
}

TEST(DeviceMeshParameters, RefuseMoreRanksThanCanBeCounted) {
  DeviceMeshParameters parameters;
  parameters.pipeline_parallel = 1 << 16;
  parameters.data_parallel_shard = 1 << 16;

  EXPECT_THAT(text_of_failure(parameters, 1), HasSubstr("more ranks than can be counted"));
}

}  // namespace
}  // namespace d9d
