#include "runtime/job/plan/written_texts.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

JobPlan texts_plan(const LoadedJob& loaded) {
  return plan_job(loaded, loaded.job.trainer.pipelining.schedule);
}

// 8 samples a step for two replicas, in microbatches of 2 over two stages.
TEST(WrittenTexts, OfRolloutsAreThoseOfAStepForEachReplica) {
  const LoadedJob loaded = testing_job::load();
  const RolloutOptions options{.max_new_tokens = 7, .texts_per_sample = 3};

  const WrittenTexts texts = texts_of_rollouts(loaded.job, texts_plan(loaded), 1, options, 32);
  const WrittenTexts of_two = texts_of_rollouts(loaded.job, texts_plan(loaded), 2, options, 32);

  EXPECT_EQ(texts.texts, 4 * 3);
  EXPECT_EQ(texts.in_a_pass, 6) << "a microbatch for each stage";
  EXPECT_EQ(texts.prompt_tokens, 32) << "as long as a sample";
  EXPECT_EQ(texts.new_tokens, 7);
  EXPECT_EQ(of_two.texts, 2 * 4 * 3) << "a step of two batches";
}

TEST(WrittenTexts, HavePromptsAsLongAsTheirSourceSays) {
  const LoadedJob loaded = testing_job::load();
  const RolloutOptions options{.max_new_tokens = 7, .prompt_tokens_max = 5};

  EXPECT_EQ(texts_of_rollouts(loaded.job, texts_plan(loaded), 1, options, 32).prompt_tokens, 5);
}

TEST(WrittenTexts, OfPromptsAreOneForEachInAPassForEachStage) {
  const WrittenTexts texts = texts_of_prompts(texts_plan(testing_job::load()), 5, 11, 7);
  const WrittenTexts one = texts_of_prompts(texts_plan(testing_job::load()), 1, 11, 7);

  EXPECT_EQ(texts.texts, 5);
  EXPECT_EQ(texts.in_a_pass, 3) << "of two stages";
  EXPECT_EQ(texts.prompt_tokens, 11);
  EXPECT_EQ(texts.new_tokens, 7);
  EXPECT_EQ(one.in_a_pass, 1);
}

TEST(WrittenTexts, OfATaskAreThoseOfAMicrobatchOrOfAllThatStagesHaveInRotation) {
  const auto of_mesh = [](const std::string& mesh) {
    LoadedJob loaded = testing_job::load({mesh});
    loaded.job.task = GenerationConfig{.max_new_tokens = 9};
    return texts_of_task(loaded.job, texts_plan(loaded), 32);
  };

  const auto rotating = of_mesh("mesh.pipeline_parallel=2"), alone = of_mesh("mesh.pipeline_parallel=1");

  ASSERT_TRUE(rotating && alone);
  EXPECT_EQ(rotating->texts, 4);
  EXPECT_EQ(rotating->in_a_pass, 2);
  EXPECT_EQ(alone->texts, 2);
  EXPECT_EQ(alone->new_tokens, 9);
  EXPECT_FALSE(texts_of_task(testing_job::load().job, texts_plan(testing_job::load()), 32));
}

}  // namespace
}  // namespace d9d
