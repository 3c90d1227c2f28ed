// A task of a plugin trains on the hidden states of all layers.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

class HiddenStates : public testing::Test {
 protected:
  Outcome run(const std::string& name, const Words& words, const std::string& mode = "mean") {
    return job_.run(named(name) + set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_layers_plugin.so]") +
                    set("task", "{name: smooth_layers, layers: 2}") +
                    set("model_provider.hidden_states", "\"" + mode + "\"") +
                    set("trainer.schedule.total_steps", "6") + words);
  }
  void expect_near(const std::vector<double>& got, const std::vector<double>& expected,
                   const std::string& what) {
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 1e-4 * std::abs(expected[i])) << what << ", step " << i;
  }

  TinyJob job_;
};

TEST_F(HiddenStates, ReachATaskOfAPluginOnAnyMesh) {
  const Outcome alone = run("alone", {});
  ASSERT_EQ(alone.code, 0) << alone.err;
  const std::vector<double> first = job_.values("alone", "metrics/layer_0");
  const std::vector<double> last = job_.values("alone", "metrics/layer_2");
  ASSERT_EQ(first.size(), 6U);
  EXPECT_GT(first.front(), 0);
  EXPECT_NE(first.front(), last.front());

  const std::map<std::string, Words> meshes{
      {"replicas", mesh(1, 2)},
      {"stages", mesh(2, 1) + set("trainer.pipelining.schedule", "{schedule: 1f1b, zero_bubble: true}")},
      {"matrices", matrices_on(2)}};
  for (const auto& [name, words] : meshes) {
    ASSERT_THAT(run(name, words), ends_well());
    expect_near(job_.losses(name), job_.losses("alone"), name);
    for (const char* layer : {"layer_0", "layer_1", "layer_2"}) {
      const std::string key = std::string("metrics/") + layer;
      expect_near(job_.values(name, key), job_.values("alone", key), name + " " + layer);
    }
  }
}

TEST_F(HiddenStates, ThatAreNotKeptAreMissedByName) {
  const Outcome outcome = run("without", {}, "no");

  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("hidden_states_snapshot"));
}

}  // namespace
}  // namespace d9d::test
