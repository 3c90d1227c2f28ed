#include "runtime/launch/run_options.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(RunOptions, SayTheRanksOfAProcessBeforeTheJobDoes) {
  JobConfig job;
  job.mesh.data_parallel_replicate = 8;
  RunOptions options;
  EXPECT_EQ(ranks_offered(job, options), 0U);
  EXPECT_EQ(ranks_of_process(job, options), 8) << "all of the mesh";

  job.node.ranks = 4;
  EXPECT_EQ(ranks_of_process(job, options), 4);

  options.ranks = 2;
  EXPECT_EQ(ranks_offered(job, options), 2U);
  EXPECT_EQ(ranks_of_process(job, options), 2);
}

}  // namespace
}  // namespace d9d
