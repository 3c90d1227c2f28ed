#include "runtime/job/job_paths.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(JobPaths, AreOfTheRunUnlessTheJobNamesOthers) {
  JobConfig job;
  job.trainer.run.name = "tiny";
  EXPECT_EQ(output_dir(job), "runs/tiny");
  EXPECT_EQ(checkpoint_dir(job), "runs/tiny/checkpoints");
  EXPECT_EQ(metrics_file(job), "runs/tiny/metrics.jsonl");

  job.output_dir = "/scratch/one";
  EXPECT_EQ(checkpoint_dir(job), "/scratch/one/checkpoints");
  EXPECT_EQ(traces_dir(job), "/scratch/one/traces");
  EXPECT_EQ(log_file(job, 3), "/scratch/one/logs/node-3.log");

  job.trainer.checkpointing.save_dir = "/shared";
  EXPECT_EQ(checkpoint_dir(job), "/shared/tiny") << "jobs may share a save_dir";
}

}  // namespace
}  // namespace d9d
