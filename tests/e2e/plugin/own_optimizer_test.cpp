// The optimizer and the learning-rate schedule of examples/own_project, in jobs with a built-in model.
#include <gmock/gmock.h>

#include <iterator>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Words own_library() {
  return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_own_plugin.so]");
}
Words lion(const std::string& keys = "") {
  return own_library() + set("optimizer", "{name: lion, lr: 0.003, weight_decay: 0.1" + keys + "}") +
         set("lr_scheduler", "{name: inverse_root, warmup: 4}");
}

class OwnOptimizer : public CurveTest {
 protected:
  std::string manifest_of(const std::string& run, const std::string& save) const {
    return text_of_file(job_.run_folder(run) / "checkpoints" / save / "manifest.json");
  }
};

TEST_F(OwnOptimizer, TrainsAndFollowsItsSchedule) {
  run(named("lion") + lion(", rules: [{match: '*norm*', weight_decay: 0}]"));

  const auto losses = job_.losses("lion");
  ASSERT_EQ(losses.size(), 20U);
  EXPECT_LT(losses.back(), losses.front() - 0.5);
  const auto rates = job_.values("lion", "lr");
  EXPECT_DOUBLE_EQ(rates[0], 0.003 / 4);
  EXPECT_DOUBLE_EQ(rates[3], 0.003);
  EXPECT_DOUBLE_EQ(rates[15], 0.003 / 2);
  EXPECT_THAT(job_.call(Words{"lr", "job.yaml", "--json"} + lion()).out,
              AllOf(HasSubstr("\"lr\":0.003"), HasSubstr("\"multipliers\":[0.25,0.5,0.75,1.0,")));
}

TEST_F(OwnOptimizer, ItsStateIsInCheckpointsAndResumesToTheBit) {
  run(named("through") + lion());
  run_in_halves("halves", lion(), lion());

  EXPECT_EQ(job_.exact_curve("halves"), job_.exact_curve("through"));
  EXPECT_THAT(manifest_of("halves", "save-10"), HasSubstr("\"lion_momentum\""));
}

// OPT-04
TEST_F(OwnOptimizer, TrainsBfloat16WithoutMasters) {
  run(named("rounded") + lion(", stochastic_rounding: true") + set("model_provider.dtype", "bfloat16") +
      mesh(2, 1) + set("mesh.data_parallel_shard", "2"));

  const auto losses = job_.losses("rounded");
  ASSERT_EQ(losses.size(), 20U);
  EXPECT_LT(losses.back(), losses.front() - 0.5);
  const std::string manifest = manifest_of("rounded", "save-20");
  EXPECT_THAT(manifest, AllOf(HasSubstr("\"lion_momentum\""), Not(HasSubstr("\"master"))));
}

TEST_F(OwnOptimizer, GivesTheSameOnShardsAndStages) {
  run(named("alone") + lion());

  // A sign of a sum that is nearly zero may turn with the order of the sum.
  run(named("meshes") + lion() + mesh(2, 1) + set("mesh.data_parallel_shard", "2"));
  const auto got = job_.losses("meshes");
  const auto expected = job_.losses("alone");
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 2e-3 * expected[i]) << i;
}

TEST_F(OwnOptimizer, IsRefusedByNameAndByKey) {
  expect_refused(own_library() + set("optimizer", "{name: lino, lr: 1}"),
                 "no optimizer is called \"lino\"; there are: adam, adamw, adamw_8bit, lion, muon, sgd, "
                 "stochastic_adamw");
  expect_refused(
      own_library() + set("lr_scheduler", "{name: root}"),
      "no learning-rate schedule is called \"root\"; there are: constant, cosine, inverse_root, linear, "
      "piecewise, wsd");
  expect_refused(lion(", beta: 0.9"), "optimizer.beta: unknown key");
  expect_refused(lion() + set("lr_scheduler.warmup", "21"),
                 "lr_scheduler.warmup: 21 steps, but the job has only 20");
  EXPECT_THAT(job_.run(lion(", rules: [{match: '*nrom*'}]")),
              is_refused("optimizer.rules.0.match: \"*nrom*\" matches no parameter of the model"));
}

}  // namespace
}  // namespace d9d::test
