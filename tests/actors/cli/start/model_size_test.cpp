#include "actors/cli/start/model_size.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

constexpr std::uint64_t gib = 1ULL << 30;
const HostRoom laptop{4, 16 * gib};

TEST(ModelSize, CountsItsParameters) {
  // Embedding 10 x 4; a layer: attention 4 x 16, SwiGLU 3 x 4 x 8, two norms of 4, norms of queries and keys 2 x 32; a
  // norm.
  EXPECT_EQ((ModelSize{1, 4, 1, 8, 10}).parameters(), 40 + 64 + 96 + 8 + 64 + 4);
}

TEST(ModelSize, HasAVocabularyThatGrowsWithTheText) {
  EXPECT_EQ(vocab_size_for(0), 512);
  EXPECT_EQ(vocab_size_for(40'000), 512);
  EXPECT_EQ(vocab_size_for(4'300'000), 2048);
  EXPECT_EQ(vocab_size_for(1ULL << 40), 32'768);
}

TEST(StartPlan, GrowsWithMinutesAndText) {
  const TextAmount book{1'000'000, 4096}, page{2'000, 512}, library{1'000'000'000, 16'384};

  EXPECT_LT(plan_model(book, laptop, 1).model.width, plan_model(book, laptop, 60).model.width);
  EXPECT_LT(plan_model(page, laptop, 600).model.width, plan_model(library, laptop, 600).model.width);
  EXPECT_EQ(plan_model(page, laptop, 600).model.width, 64) << "a page fills no more";
}

TEST(StartPlan, KeepsToTheMinutesWhereTheTextIsLarge) {
  for (const double minutes : {2.0, 10.0, 100.0}) {
    const StartPlan plan = plan_model({100'000'000, 8192}, laptop, minutes);

    EXPECT_NEAR(minutes_of(plan, plan.model.parameters(), laptop), minutes, 0.1 * minutes);
  }
}

// What the job file's validation demands.
TEST(StartPlan, HasBatchesThatDivide) {
  for (const int cores : {1, 2, 3, 6, 16, 96}) {
    for (const std::uint64_t tokens : {50ULL, 3'000ULL, 200'000ULL, 50'000'000ULL}) {
      const StartPlan plan = plan_model({tokens, 1024}, {cores, 64 * gib}, 4);

      EXPECT_EQ(plan.global_batch_size % (plan.replicas * plan.microbatch_size), 0) << cores << " " << tokens;
      EXPECT_LE(plan.replicas, cores);
      EXPECT_GE(plan.steps, 20);
      EXPECT_GE(plan.sequence_length, 8);
      EXPECT_LT(plan.warmup, plan.steps);
    }
  }
}

TEST(StartPlan, TakesFewerReplicasWhereMemoryIsShort) {
  EXPECT_EQ(plan_tuning(100'000, 7'000'000'000, 4096, true, {16, 64 * gib}, 4).replicas, 1);
  EXPECT_EQ(plan_tuning(100'000, 1'000'000, 4096, true, {4, 64 * gib}, 4).replicas, 4);
}

TEST(StartPlan, IsNoLongerThanTheModelsPositions) {
  EXPECT_LE(plan_tuning(10'000'000, 1'000'000, 100, true, laptop, 4).sequence_length, 100);
  EXPECT_EQ(plan_tuning(10'000'000, 1'000'000, 4096, true, laptop, 4).sequence_length, 512);
}

TEST(StartPlan, HoldsNothingOutOfATextOfOnePart) {
  EXPECT_EQ(plan_model({1000, 512, false}, laptop, 4).validation, 0);
  EXPECT_GT(plan_model({1000, 512, true}, laptop, 4).validation, 0);
}

}  // namespace
}  // namespace d9d
