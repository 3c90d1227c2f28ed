// Which samples a job sees, in which order and how often; and what a plugin draws from torch's generator.
#include <gmock/gmock.h>

#include <regex>

#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DataOfAJob : public testing::Test {
 protected:
  // 64 samples: 8 steps an epoch.
  DataOfAJob() {
    job_.folder().write("tokens.npy",
                        npy_file(64, 32, [](int row, int column) { return (7 * row + column) % 512; }));
  }
  static Words tokens(const std::string& more) {
    return set("data", "{source: tokens, tokens: tokens.npy, shuffle: true" + more + "}") +
           set("lr_scheduler", "null");
  }
  // Without the phases of the tiny job's schedule, which are longer than these jobs.
  static Words steps(int number) {
    return set("trainer.schedule.total_steps", std::to_string(number)) + set("lr_scheduler", "null");
  }
  static Words base_seed(int seed) { return set("trainer.determinism.base_seed", std::to_string(seed)); }
  // The weights are the same for both seeds: what differs is the order.
  std::vector<double> losses_of(const std::string& run, const Words& words) {
    EXPECT_THAT(job_.run(named(run) + words), ends_well());
    return job_.losses(run);
  }
  TinyJob job_;
};

TEST_F(DataOfAJob, BaseSeedChoosesTheOrderUnlessTheDataHasASeed) {
  ASSERT_EQ(job_.run(named("source") + steps(1) + set("export_to", "source")).code, 0);
  const Words weights = set("trainer.model_stage_factory.source_checkpoint", "source");

  const auto first = losses_of("first", weights + steps(3) + tokens("") + base_seed(1));
  const auto again = losses_of("again", weights + steps(3) + tokens("") + base_seed(1));
  const auto other = losses_of("other", weights + steps(3) + tokens("") + base_seed(2));
  const auto given = losses_of("given", weights + steps(3) + tokens(", seed: 1") + base_seed(2));

  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_EQ(first, given) << "data.seed counts, whatever the base seed";
}

TEST_F(DataOfAJob, AJobReadsItsDataAsOftenAsItsEpochsSay) {
  EXPECT_THAT(job_.run(named("refused") + steps(9) + tokens("")),
              is_refused("trainer.schedule.total_steps = 9, but the data gives 8 steps in 1 epoch: it has "
                         "64 samples, a step takes 8"));

  EXPECT_EQ(losses_of("two", steps(9) + tokens(", epochs: 2")).size(), 9U);
  EXPECT_EQ(losses_of("needed", steps(9) + tokens(", epochs: as_needed")),
            losses_of("two again", steps(9) + tokens(", epochs: 2")));
}

TEST_F(DataOfAJob, WithoutTotalStepsItsLengthIsThatOfItsEpochs) {
  job_.rewrite("schedule: {total_steps: 20}", "schedule: {}");

  EXPECT_EQ(losses_of("two", tokens(", epochs: 2") + set("lr_scheduler", "null")).size(), 16U);
}

TEST_F(DataOfAJob, ACheckpointInAnotherOrderIsRefusedUntilTheSeedIsGiven) {
  ASSERT_EQ(losses_of("run", steps(2) + tokens(", seed: 0")).size(), 2U);

  EXPECT_THAT(job_.run(named("run") + steps(4) + tokens("")),
              is_refused(AllOf(HasSubstr("was written with data.seed 0"), HasSubstr("base_seed 1"),
                               HasSubstr("Set data.seed: 0 to go on"), HasSubstr("--fresh"))));

  EXPECT_EQ(losses_of("run", steps(4) + tokens(", seed: 0")).size(), 4U);
}

TEST_F(DataOfAJob, ACheckpointOfAJobWithoutASeedGoesOnWithoutOne) {
  ASSERT_EQ(losses_of("run", steps(2) + tokens("")).size(), 2U);

  EXPECT_EQ(losses_of("run", steps(4) + tokens("")).size(), 4U);
}

TEST_F(DataOfAJob, WhatATaskDrawsFromTorchRepeatsAndFollowsTheBaseSeed) {
  const auto drawn = [&](const std::string& run, int seed) {
    const Outcome outcome =
        job_.run(named(run) + steps(1) + base_seed(seed) +
                 set("plugins", "[" D9D_BINARY_DIR "/d9d_check_plugin.so]") + set("task", "dice"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::smatch match;
    EXPECT_TRUE(std::regex_search(outcome.err, match, std::regex("drew ([0-9.e-]+)"))) << outcome.err;
    return match.str(1);
  };

  EXPECT_EQ(drawn("first", 1), drawn("again", 1));
  EXPECT_NE(drawn("third", 1), drawn("other", 2));
}

}  // namespace
}  // namespace d9d::test
