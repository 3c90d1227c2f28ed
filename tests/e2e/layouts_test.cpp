// Where parameters lie is nobody's business but the job's: checkpoints, exports and folders of weights do
// not tell.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

class Layouts : public testing::Test {
 protected:
  void SetUp() override {
    job_.rewrite("{period_steps: last_step}", "{period_steps: 10, num_to_keep: null}");
  }

  void run(const Words& words) {
    const Outcome outcome = job_.run(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  // Trains the first half of a run on one mesh and the second on another.
  void run_in_halves(const std::string& name, const Words& first, const Words& second) {
    run(named(name) + first);
    std::filesystem::remove_all(job_.run_folder(name) / "checkpoints/save-20");
    const Outcome rest = job_.run(named(name) + second);
    ASSERT_EQ(rest.code, 0) << rest.err;
    EXPECT_THAT(rest.err, HasSubstr("resuming from runs/" + name + "/checkpoints/save-10"));
  }

  void expect_same_curve(const std::string& run, const std::string& expected_run) {
    const auto got = job_.losses(run);
    const auto expected = job_.losses(expected_run);
    ASSERT_EQ(got.size(), expected.size()) << run;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], 1e-5 * std::abs(expected[i])) << run << " at step " << i + 1;
    }
  }

  TinyJob job_;
};

TEST_F(Layouts, OfExpertsAreSavedByTwoRanksAndReadByOneAndTheOtherWayRound) {
  run(named("whole"));

  run_in_halves("apart_then_together", mesh(1, 2) + experts_on(2), {});
  run_in_halves("together_then_apart", {}, mesh(1, 2) + experts_on(2));
  run_in_halves("more_apart", mesh(1, 2) + experts_on(2), mesh(1, 4) + experts_on(4));

  for (const char* name : {"apart_then_together", "together_then_apart", "more_apart"}) {
    expect_same_curve(name, "whole");
  }
}

TEST_F(Layouts, TakeTheirPartsOfAFolderOfWeights) {
  run(named("source") + mesh(1, 2) + experts_on(2) + set("export_to", "exported"));
  const Words from = set("trainer.model_stage_factory", "{source_checkpoint: exported}");

  run(named("alone") + from);
  run(named("experts_apart") + from + mesh(1, 2) + experts_on(2));
  run(named("matrices_apart") + from + matrices_on(2));

  // Synthetic data are the same in every run: the exported model knows the samples already.
  EXPECT_LT(job_.losses("alone").front(), job_.losses("source").front() - 0.5);
  expect_same_curve("experts_apart", "alone");
  expect_same_curve("matrices_apart", "alone");
}

TEST_F(Layouts, OfMatricesAreSavedByTwoRanksAndReadByOneAndTheOtherWayRound) {
  run(named("whole"));

  run_in_halves("apart_then_together", matrices_on(2), {});
  run_in_halves("together_then_apart", {}, matrices_on(2));
  run_in_halves("more_apart", matrices_on(2) + mesh(2, 1), matrices_on(4) + experts_on(2));

  for (const char* name : {"apart_then_together", "together_then_apart", "more_apart"}) {
    expect_same_curve(name, "whole");
  }
}

TEST_F(Layouts, OfMatricesLeaveNoTraceInAnExport) {
  job_.rewrite("vocab_size: 512\n", "vocab_size: 513\n");
  // Updates far below a rounding of the parameters.
  const Words untrained = set("optimizer.lr", "1e-30") + set("trainer.schedule.total_steps", "6");
  const auto weights = [&](const std::string& folder) {
    std::ifstream file(job_.folder() / folder / "model.safetensors", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };

  run(named("alone") + untrained + set("export_to", "by_one"));
  run(named("apart") + untrained + matrices_on(2) + set("export_to", "by_two"));

  EXPECT_GT(weights("by_one").size(), 100000);
  EXPECT_TRUE(weights("by_two") == weights("by_one"));
}

}  // namespace
}  // namespace d9d::test
