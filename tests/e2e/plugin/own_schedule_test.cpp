// The pipeline schedule of examples/own_project, in jobs with a built-in model; and one that cannot run.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OwnSchedule : public CurveTest {
 protected:
  static Words in_order(const std::string& schedule = "in_order") {
    return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_own_plugin.so]") +
           set("trainer.pipelining.schedule", schedule);
  }
};

TEST_F(OwnSchedule, TrainsAsTheBuiltInOnes) {
  run(named("alone"));

  expect_same("in_order", mesh(2, 1) + in_order());
  expect_same("replicas", mesh(2, 2) + in_order());
  expect_same("dynamic", mesh(2, 1) + in_order() + set("trainer.pipelining.order", "dynamic"));
}

TEST_F(OwnSchedule, IsSimulatedByCheck) {
  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + mesh(2, 1) + in_order()),
              prints("schedule  in_order, simulated bubble "));
}

TEST_F(OwnSchedule, IsDrawnByTheCommand) {
  const Words plugin{"schedule", "--plugin", D9D_BINARY_DIR "/tests/e2e/libd9d_own_plugin.so"};
  const Words size{"--pp", "2", "--microbatches", "4"};
  const Outcome drawn = job_.call(plugin + size + Words{"--schedule", "in_order", "--svg", "mine.svg"});
  const Outcome section = job_.call(plugin + size + Words{"--schedule", "{schedule: in_order}", "--json"});

  ASSERT_THAT(drawn, prints("in_order"));
  EXPECT_TRUE(std::filesystem::exists(job_.folder().path() / "mine.svg"));
  EXPECT_THAT(section, prints("\"pp\""));
  const auto refusal = [&](const Words& words) {
    const Outcome outcome = job_.call(plugin + size + words);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(refusal({"--schedule", "in_ordr"}), HasSubstr("no pipeline schedule is called \"in_ordr\""));
  EXPECT_THAT(refusal({"--schedule", "{schedule: in_order, depth: 2}"}), HasSubstr("depth: unknown key"));
  EXPECT_THAT(refusal({"--schedule", "in_order", "--zero-bubble"}), HasSubstr("has its keys in --schedule"));
}

TEST_F(OwnSchedule, IsRefusedByNameByKeyAndByItsPrograms) {
  expect_refused(
      mesh(2, 1) + in_order("inorder"),
      "no pipeline schedule is called \"inorder\"; there are: 1f1b, auto, dual_pipe_v, gpipe, in_order, "
      "inference, looped_bfs, zero_bubble_v");
  expect_refused(mesh(2, 1) + in_order("{schedule: in_order, depth: 2}"),
                 "trainer.pipelining.schedule.depth: unknown key");
  expect_refused(set("trainer.pipelining.schedule", "in_order"), "\"in_order\" is not known");
  const Words broken = set("plugins", "[" D9D_BINARY_DIR "/d9d_check_plugin.so]") +
                       set("trainer.pipelining.schedule", "backwards_first");
  expect_refused(mesh(2, 1) + broken,
                 "the schedule \"backwards_first\" of a plugin makes no program that can run: ");
}

}  // namespace
}  // namespace d9d::test
