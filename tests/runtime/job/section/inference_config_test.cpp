#include "runtime/job/section/inference_config.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(InferenceConfig, BecomesATrainerWithForwardsAlone) {
  InferenceConfig inference;
  inference.run.name = "looks";
  inference.batching = {.global_batch_size = 8, .microbatch_size = 2};
  inference.schedule.total_steps = 5;
  inference.model_stage_factory.source_checkpoint = "model";
  inference.determinism.base_seed = 7;
  inference.checkpointing.period_steps = config::Period::every(3);

  const TrainerConfig trainer = as_trainer(inference);

  EXPECT_EQ(trainer.run.name, "looks");
  EXPECT_EQ(trainer.batching.microbatch_size, 2);
  EXPECT_EQ(trainer.schedule.total_steps, 5);
  EXPECT_EQ(trainer.model_stage_factory.source_checkpoint, "model");
  EXPECT_EQ(trainer.determinism.base_seed, 7);
  EXPECT_EQ(trainer.checkpointing.period_steps, config::Period::every(3));
  EXPECT_TRUE(std::holds_alternative<InferenceSchedule>(trainer.pipelining.schedule));
  EXPECT_EQ(trainer.logging.period_steps, config::Period::disable()) << "nobody counts metrics";
}

}  // namespace
}  // namespace d9d
