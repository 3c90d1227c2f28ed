// The optimizer's keys and a model of a plugin, whose parameters are known when its stages are built.
#include <gmock/gmock.h>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Words plugin_model(const std::string& keys = "") {
  return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_buffers_plugin.so]") +
         set("model_provider", "{name: centred_lm" + keys + "}") + set("trainer.schedule.total_steps", "6");
}
Words adamw(const std::string& keys) {
  return set("optimizer", "{name: adamw, lr: 0.003, " + keys + "}");
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(RulesOfAPlugin, AreRefusedIfNoParameterOfAnyStageFollowsThem) {
  TinyJob job;

  const Outcome good = job.run(named("good") + plugin_model() + mesh(2, 1) +
                               adamw("rules: [{match: 'layers.1.*'}, {match: embedding, weight_decay: 0}]"));
  const Outcome wrong = job.run(named("wrong") + plugin_model() + mesh(2, 1) +
                                adamw("rules: [{match: 'layers.1.*'}, {match: embeddign, weight_decay: 0}]"));

  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(
      wrong,
      is_refused(AllOf(HasSubstr("optimizer.rules.1.match: \"embeddign\" matches no parameter of the model"),
                       HasSubstr("did you mean \"embedding\"?"), Not(HasSubstr("optimizer.rules.0")))));
}

TEST(PatternsOfAPlugin, AreHeldAgainstTheNamesOfItsParameters) {
  TinyJob job;
  const auto run = [&](const std::string& name, const std::string& clipped, const std::string& watched) {
    return job.run(named(name) + plugin_model() + mesh(2, 1) +
                   set("gradient_hooks", "[{name: clip_value, match: '" + clipped + "', limit: 0.0001}]") +
                   set("trainer.logging.statistics", "{group: '" + watched + "'}"));
  };
  ASSERT_EQ(job.run(named("plain") + plugin_model() + mesh(2, 1)).code, 0);

  const Outcome good = run("good", "layers.1.*", "embedding");
  const Outcome clips = run("clips", "layer.1*", "embedding");
  const Outcome watches = run("watches", "layers.1.*", "embeddign");

  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(job.values("good", "metrics/statistics/group/gradient_norm").size(), 6U);
  EXPECT_NE(job.losses("good").back(), job.losses("plain").back()) << "it clips";
  EXPECT_THAT(clips, is_refused("gradient_hooks.0.match: \"layer.1*\" matches no parameter of the model"));
  EXPECT_THAT(watches, is_refused(AllOf(
                           HasSubstr("trainer.logging.statistics.group: \"embeddign\" matches no parameter"),
                           HasSubstr("did you mean \"embedding\"?"))));
}

TEST(RulesOfAPlugin, WarnsOnceOfUpdatesThatBfloat16Loses) {
  TinyJob job;
  const std::string warning = "optimizer.master_weights: false, so each update of the bfloat16 parameters";

  const Outcome rounded = job.run(named("rounded") + plugin_model(", bfloat16: true") + mesh(1, 2) +
                                  adamw("master_weights: false"));
  const Outcome masters = job.run(named("masters") + plugin_model(", bfloat16: true") + adamw("eps: 1.0e-8"));

  ASSERT_EQ(rounded.code, 0) << rounded.err;
  ASSERT_EQ(masters.code, 0) << masters.err;
  EXPECT_EQ(count_of(rounded.err, warning), 1) << rounded.err;
  EXPECT_EQ(count_of(masters.err, warning), 0) << masters.err;
}

}  // namespace
}  // namespace d9d::test
