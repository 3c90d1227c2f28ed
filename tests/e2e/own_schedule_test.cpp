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
  const Outcome outcome = job_.call(Words{"check", "job.yaml"} + mesh(2, 1) + in_order());

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("schedule  in_order, simulated bubble "));
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
