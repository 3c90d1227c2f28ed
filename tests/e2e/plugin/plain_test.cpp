// A user's model of torch's own modules under the schedules that split backward.
#include <gmock/gmock.h>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PlainModules : public testing::Test {
 protected:
  Outcome run(const std::string& name, const std::string& schedule, const std::string& keys = "") {
    Outcome outcome = job_.run(named(name) + mesh(2, 1) +
                               set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_plain_plugin.so]") +
                               set("model_provider", "{name: plain_lm" + keys + "}") +
                               set("trainer.pipelining.schedule", "{schedule: " + schedule + "}"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }

  TinyJob job_;
};

TEST_F(PlainModules, LeaveAllTheirWeightsToW) {
  run("whole", "1f1b");
  const auto curve = job_.exact_curve("whole");
  ASSERT_EQ(curve.size(), 20U);
  const std::vector<double> losses = job_.losses("whole");
  EXPECT_LT(losses.back(), losses.front() - 0.1);

  for (const char* schedule : {"1f1b, zero_bubble: true", "zero_bubble_v", "dual_pipe_v"}) {
    std::string name = schedule;
    name.resize(8);
    const Outcome split = run(name, schedule);

    EXPECT_THAT(split.err, Not(HasSubstr("cannot leave weight gradients"))) << schedule;
    const std::vector<double> got = job_.losses(name);
    ASSERT_EQ(got.size(), losses.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], losses[i], 1e-5 * losses[i]) << schedule << ", step " << i;
  }
  EXPECT_EQ(job_.exact_curve("1f1b, ze"), curve) << "the same sums in the same order";
}

TEST_F(PlainModules, AreToldWhichFunctionOfTheirsCannotBeSplit) {
  run("whole", "1f1b", ", own_function: true");

  const Outcome split = run("split", "1f1b, zero_bubble: true", ", own_function: true");

  EXPECT_THAT(split.err, AllOf(HasSubstr("PlainScale"),
                               HasSubstr("cannot leave weight gradients to W, so that of layers.2.gain")));
  EXPECT_EQ(job_.exact_curve("split"), job_.exact_curve("whole"));
}

// PyTorch's issue 59925 is of this kind: a job that ends with exit 0 and has not trained what it seems to train.
TEST_F(PlainModules, AreToldWhichWeightsCannotTrain) {
  const Outcome sound = run("sound", "1f1b");
  EXPECT_THAT(sound.err, AllOf(Not(HasSubstr("cannot train")), Not(HasSubstr("no parameter of the model"))));

  const Outcome unregistered = run("unregistered", "1f1b", ", fault: unregistered");
  EXPECT_THAT(unregistered.err,
              AllOf(HasSubstr("stage 0: the loss depends on 2 tensors that are no parameter of the model"),
                    HasSubstr("[32, 32]"), HasSubstr("[32]"), HasSubstr("register_module")));

  const Outcome unused = run("unused", "1f1b", ", fault: unused");
  EXPECT_THAT(unused.err,
              HasSubstr("stage 0: 1 of 16 trainable parameters got no gradient in the first step and cannot "
                        "train: spare."));

  const std::string in_layer =
      "layers.0.norm.weight, layers.0.norm.bias, layers.0.mix.weight, layers.0.mix.bias, "
      "layers.0.gain, layers.0.out.weight, layers.0.out.bias";
  for (const char* fault : {"detached", "no_grad"}) {
    const Outcome cut = run(fault, "1f1b, zero_bubble: true", std::string(", fault: ") + fault);
    EXPECT_THAT(
        cut.err,
        HasSubstr("7 of 15 trainable parameters got no gradient in the first step and cannot train: " +
                  in_layer))
        << fault;
  }
}

}  // namespace
}  // namespace d9d::test
