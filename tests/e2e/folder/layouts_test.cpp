// Where parameters lie is nobody's business but the job's:
// checkpoints, exports and folders of weights do not tell.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

class Layouts : public CurveTest {};

TEST_F(Layouts, OfExpertsAreSavedByTwoRanksAndReadByOneAndTheOtherWayRound) {
  run(named("alone"));

  expect_same_in_halves("apart_then_together", mesh(1, 2) + experts_on(2), {});
  expect_same_in_halves("together_then_apart", {}, mesh(1, 2) + experts_on(2));
  expect_same_in_halves("more_apart", mesh(1, 2) + experts_on(2), mesh(1, 4) + experts_on(4));
}

TEST_F(Layouts, TakeTheirPartsOfAFolderOfWeights) {
  run(named("source") + mesh(1, 2) + experts_on(2) + set("export_to", "exported"));
  const Words from = set("trainer.model_stage_factory", "{source_checkpoint: exported}");

  run(named("alone") + from);
  run(named("experts_apart") + from + mesh(1, 2) + experts_on(2));
  run(named("matrices_apart") + from + matrices_on(2));

  // Synthetic data are the same in every run: the exported model knows the samples already.
  EXPECT_LT(job_.losses("alone").front(), job_.losses("source").front() - 0.5);
  expect_same_curve("experts_apart", "alone", 0);
  expect_same_curve("matrices_apart", "alone", 0);
}

TEST_F(Layouts, OfMatricesAreSavedByTwoRanksAndReadByOneAndTheOtherWayRound) {
  run(named("alone"));

  expect_same_in_halves("apart_then_together", matrices_on(2), {});
  expect_same_in_halves("together_then_apart", {}, matrices_on(2));
  expect_same_in_halves("more_apart", matrices_on(2) + mesh(2, 1), matrices_on(4) + experts_on(2));
}

TEST_F(Layouts, OfMatricesLeaveNoTraceInAnExport) {
  job_.rewrite("vocab_size: 512\n", "vocab_size: 513\n");
  // Updates far below a rounding of the parameters.
  const Words untrained = set("optimizer.lr", "1e-30") + set("trainer.schedule.total_steps", "6");
  const auto weights = [&](const std::string& folder) {
    return text_of_file(job_.folder() / folder / "model.safetensors");
  };

  run(named("alone") + untrained + set("export_to", "by_one"));
  run(named("apart") + untrained + matrices_on(2) + set("export_to", "by_two"));

  EXPECT_GT(weights("by_one").size(), 100000);
  EXPECT_TRUE(weights("by_two") == weights("by_one"));
}

}  // namespace
}  // namespace d9d::test
