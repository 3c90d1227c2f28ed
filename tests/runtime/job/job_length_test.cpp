#include "runtime/job/job_length.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/job/job_load.hpp"
#include "tests/runtime/job/job_text.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

// 8 samples a step.
JobConfig job(const std::string& data, const std::string& total_steps) {
  return testing_job::load({"trainer.batching={global_batch_size: 8, microbatch_size: 1}", "data=" + data,
                            "trainer.schedule.total_steps=" + total_steps, "lr_scheduler=null"})
      .job;
}
JobConfig text_job(const std::string& epochs, const std::string& total_steps) {
  return job("{source: text, files: [a], tokenizer: t.json, sequence_length: 4" + epochs + "}", total_steps);
}
std::string refusal(const JobConfig& job, std::optional<std::uint64_t> samples) {
  return test::error_of([&] { job_steps(job, samples); }, ErrorKind::input);
}

TEST(JobLength, IsOneEpochOfWholeStepsUnlessTheJobSaysMore) {
  EXPECT_EQ(job_steps(text_job("", "null"), 31), 3U);
  EXPECT_EQ(job_steps(text_job(", epochs: 2", "null"), 31), 7U) << "a step may hold samples of two epochs";
  EXPECT_EQ(job_steps(text_job("", "2"), 31), 2U);
}

TEST(JobLength, HasOneMoreStepForTheSamplesThatMakeNoWholeOneIfTheJobKeepsThem) {
  const auto keeps_last = [](JobConfig job) {
    job.trainer.batching.drop_last = false;
    return job;
  };

  EXPECT_EQ(job_steps(keeps_last(text_job("", "null")), 31), 4U);
  EXPECT_EQ(job_steps(keeps_last(text_job("", "null")), 32), 4U);
  EXPECT_EQ(job_steps(keeps_last(text_job("", "null")), 3), 1U) << "less than one batch";
  EXPECT_EQ(samples_left_out(keeps_last(text_job("", "null")), 31, 4), 0U);
  EXPECT_EQ(samples_left_out(text_job("", "null"), 31, 3), 7U);
  EXPECT_THAT(refusal(keeps_last(text_job("", "5")), 31), HasSubstr("but the data gives 4 steps in 1 epoch"));
}

TEST(JobLength, MoreStepsThanTheDataGivesAreRefusedWithTheCounts) {
  EXPECT_EQ(refusal(text_job("", "4"), 31),
            "trainer.schedule.total_steps = 4, but the data gives 3 steps in 1 epoch: it has 31 samples, a "
            "step takes "
            "8. Set total_steps to 3, or data.epochs to 2 (or to as_needed) to read the data again");
  EXPECT_THAT(refusal(text_job(", epochs: 2", "100"), 31), HasSubstr("7 steps in 2 epochs"));
  EXPECT_THAT(refusal(text_job(", epochs: 2", "100"), 31), HasSubstr("data.epochs to 26"));
  EXPECT_EQ(job_steps(text_job(", epochs: 26", "100"), 31), 100U);
}

TEST(JobLength, AsNeededReadsTheDataAsOftenAsTheStepsTake) {
  const JobConfig given = text_job(", epochs: as_needed", "100");

  EXPECT_EQ(job_steps(given, 31), 100U);
  EXPECT_EQ(end_of_data(given.data, 31), std::nullopt);
  EXPECT_THAT(refusal(text_job(", epochs: as_needed", "null"), 31), HasSubstr("data.epochs is as_needed"));
}

TEST(JobLength, DataWithLessThanOneBatchIsRefused) {
  EXPECT_THAT(refusal(text_job("", "null"), 7), HasSubstr("the data has 7 samples, expected at least "
                                                          "trainer.batching.global_batch_size = 8"));
}

// 5 steps of 4 have read 20 samples: the other 11 are one step of 8.
TEST(JobLength, OfAJobThatGoesOnCountsTheStepsDoneAndTheSamplesLeft) {
  const JobPosition at{5, 20};

  EXPECT_EQ(job_steps(text_job("", "null"), 31, at), 6U);
  EXPECT_EQ(job_steps(text_job("", "6"), 31, at), 6U);
  EXPECT_EQ(job_steps(text_job(", epochs: 2", "null"), 31, at), 5U + 42 / 8);
  EXPECT_EQ(job_steps(text_job("", "null"), 27, at), 5U) << "nothing is left";
  EXPECT_EQ(job_steps(text_job("", "null"), 3, at), 5U) << "of data that became shorter";
  EXPECT_EQ(
      test::error_of([&] { job_steps(text_job("", "7"), 31, at); }, ErrorKind::input),
      "trainer.schedule.total_steps = 7, but the data gives 6 steps: 5 steps are done with 20 samples, and "
      "the "
      "other 11 are 1 whole step at 8 a step. Set total_steps to 6, or data.epochs to 2 (or to as_needed)");
}

TEST(JobLength, SyntheticDataHasNoEnd) {
  EXPECT_EQ(job_steps(job("{source: synthetic, sequence_length: 4, vocab_size: 8}", "1000"), std::nullopt),
            1000U);
}

TEST(JobLength, TheLoaderStopsAtTheEndOfTheLastEpoch) {
  EXPECT_EQ(end_of_data(text_job(", epochs: 3", "1").data, 31), 93U);
  EXPECT_EQ(end_of_data(text_job(", epochs: 9223372036854775807", "1").data, 31), UINT64_MAX);
}

TEST(JobLength, OtherWordsThanAsNeededAreNoNumberOfEpochs) {
  for (const char* epochs : {"0", "-1", "1.5", "forever", "'2'", "[]", "null"}) {
    EXPECT_THROW(text_job(std::string(", epochs: ") + epochs, "1"), Error) << epochs;
  }
}

}  // namespace
}  // namespace d9d
