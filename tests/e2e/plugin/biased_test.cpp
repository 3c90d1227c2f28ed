// Mod30, Mod32: a plugin's model whose attention has biases of its scores trains on every mesh as on one rank.
#include <gmock/gmock.h>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Biased : public CurveTest, public testing::WithParamInterface<const char*> {
 protected:
  static Words model(const std::string& bias, const std::string& keys = "") {
    return set("plugins", "[" D9D_BINARY_DIR "/tests/e2e/libd9d_biased_plugin.so]") +
           set("model_provider", "{name: biased_lm, bias: " + bias + keys + "}");
  }
  static Words ulysses() { return set("parallelism.context.attention", "ulysses"); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Biased, testing::Values("alibi", "buckets", "sparse"),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(Biased, Mod32TrainsOnEveryMeshOfTwoAsOnOneRank) {
  const Words biased = model(GetParam());
  run(named("alone") + biased);

  expect_same("stages", biased + mesh(2, 1) + schedule("1f1b, zero_bubble: true"));
  expect_same("replicas", biased + mesh(1, 2));
  expect_same("shards", biased + set("mesh.data_parallel_shard", "2"));
  expect_same("matrices", biased + matrices_on(2));
  expect_same("sequences", biased + set("mesh.context_parallel_shard", "2") + ulysses());
}

TEST_P(Biased, TrainsOnMeshesOfSeveralAxes) {
  const Words biased = model(GetParam(), ", heads: 8");
  run(named("alone") + biased);

  expect_same("stages_and_matrices", biased + mesh(2, 1) + matrices_on(2));
  expect_same("matrices_and_sequences",
              biased + matrices_on(2) + set("mesh.context_parallel_shard", "2") + ulysses());
}

TEST_P(Biased, TrainsOnADeviceThatComputesBesideTheHost) {
  const Words biased = model(GetParam());
  run(named("alone") + biased);

  expect_same("beside", biased + set("node.device", "delayed"));
  EXPECT_EQ(job_.exact_curve("beside"), job_.exact_curve("alone"));
}

TEST_F(Biased, OfAnotherKindIsAnotherModel) {
  for (const char* bias : {"alibi", "buckets", "sparse"}) run(named(bias) + model(bias));

  EXPECT_NE(job_.losses("alibi").back(), job_.losses("buckets").back());
  EXPECT_NE(job_.losses("alibi").back(), job_.losses("sparse").back());
}

TEST_F(Biased, IsRefusedByRingAttentionByName) {
  for (const char* bias : {"alibi", "sparse"}) {
    EXPECT_THAT(job_.run(named("ring") + model(bias) + set("mesh.context_parallel_shard", "2")),
                is_refused(AllOf(HasSubstr("a bias of its scores"), HasSubstr("ring attention"),
                                 HasSubstr("parallelism.context.attention: ulysses"))));
  }
}

}  // namespace
}  // namespace d9d::test
