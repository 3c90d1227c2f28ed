// A step whose loss is NaN on some microbatches of every rank: the job stops, or skips it on all ranks alike.
#include <gmock/gmock.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/file_text.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* plugin_with_nan = D9D_BINARY_DIR "/tests/e2e/libd9d_evil_plugin.so";
constexpr std::size_t nan_step = 3;

Words nan_task(const std::string& mode) {
  return set("plugins", std::string("[") + plugin_with_nan + "]") +
         set("task", "{name: evil, mode: " + mode + "}") + set("trainer.schedule.total_steps", "6") +
         set("trainer.checkpointing", "{period_steps: 1, num_to_keep: null}");
}
Words skip(const std::string& more = "") {
  return set("trainer.non_finite_gradients", "{action: skip" + more + "}");
}

class NonFinite : public testing::Test {
 protected:
  void train(const std::string& run, const Words& words) {
    const Outcome outcome = job_.run(named(run) + words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    err_ = outcome.err;
  }
  std::vector<nlohmann::json> metrics(const std::string& run) const {
    return json_lines(job_.run_folder(run) / "metrics.jsonl");
  }
  std::string tensors(const std::string& run, std::size_t step) const {
    return shard_of_rank_0(job_.run_folder(run) / "checkpoints" / ("save-" + std::to_string(step)));
  }
  void expect_same_losses(const std::string& run, const std::string& expected, double tolerance) const {
    const auto got = metrics(run);
    const auto reference = metrics(expected);
    ASSERT_EQ(got.size(), 6U);
    ASSERT_EQ(reference.size(), 6U);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i]["loss"].is_null(), i + 1 == nan_step) << run << " " << got[i].dump();
      if (i + 1 == nan_step) continue;
      const double loss = reference[i]["loss"];
      EXPECT_NEAR(got[i]["loss"].get<double>(), loss, tolerance * loss) << run << " at step " << i + 1;
    }
  }

  TinyJob job_;
  std::string err_;
};

TEST_F(NonFinite, StopsTheJobUnlessItSaysOtherwise) {
  EXPECT_THAT(job_.run(nan_task("nan")),
              fails(AllOf(HasSubstr("loss is nan and gradient norm is nan"),
                          HasSubstr("skip such steps with trainer.non_finite_gradients"))));
}

TEST_F(NonFinite, SkippedStepsLeaveParametersAndMomentsAsTheyWereAndAreCounted) {
  train("skips", nan_task("nan") + skip());

  EXPECT_EQ(tensors("skips", nan_step - 1), tensors("skips", nan_step));
  EXPECT_NE(tensors("skips", nan_step), tensors("skips", nan_step + 1));
  EXPECT_THAT(err_, HasSubstr("the update of step 3 is skipped, 1 step so far"));
  const auto lines = metrics("skips");
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_FALSE(lines[nan_step - 2].contains("skipped_steps"));
  for (std::size_t i = nan_step - 1; i < lines.size(); ++i) EXPECT_EQ(lines[i]["skipped_steps"], 1);
  EXPECT_TRUE(lines[nan_step - 1]["loss"].is_null());
  EXPECT_GT(lines.back()["loss"].get<double>(), 0);
}

TEST_F(NonFinite, ResumesToTheBitAfterASkippedStepAndCountsOn) {
  const Words words = nan_task("nan") + skip();
  train("through", words);
  train("halves", words);
  for (int step = 5; step <= 6; ++step)
    std::filesystem::remove_all(job_.run_folder("halves") / "checkpoints" / ("save-" + std::to_string(step)));
  train("halves", words);

  EXPECT_THAT(err_, HasSubstr("save-4"));
  EXPECT_EQ(job_.exact_curve("halves"), job_.exact_curve("through"));
  EXPECT_EQ(tensors("halves", 6), tensors("through", 6));
  EXPECT_EQ(metrics("halves").back()["skipped_steps"], 1);
}

TEST_F(NonFinite, SkipsTheSameStepOnEveryMeshAndWithTheInfinityNorm) {
  const Words words = nan_task("nan") + skip();
  const Words infinity = set("trainer.gradient_clipping", "{max_norm: 1.0e6, norm_type: inf}");
  const Words no_clipping = set("trainer.gradient_clipping", "{max_norm: 1.0e6}");
  train("alone", words + no_clipping);

  train("stages", words + no_clipping + mesh(2, 2));
  train("shards", words + infinity + set("mesh.data_parallel_shard", "2") + matrices_on(2));

  expect_same_losses("stages", "alone", 1e-5);
  expect_same_losses("shards", "alone", 1e-5);
  const auto alone = metrics("alone");
  const auto shards = metrics("shards");
  EXPECT_LT(shards[0]["grad_norm"].get<double>(), alone[0]["grad_norm"].get<double>());
}

TEST_F(NonFinite, GivesUpAfterTooManySkippedStepsInARow) {
  EXPECT_THAT(job_.run(nan_task("nan_from_there") + skip(", max_in_a_row: 2")),
              fails(AllOf(HasSubstr("the update of step 4 is skipped, 2 steps so far"),
                          Not(HasSubstr("step 5 is skipped")), HasSubstr("max_in_a_row"))));
}

}  // namespace
}  // namespace d9d::test
