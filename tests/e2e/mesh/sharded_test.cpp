// Parameters in shards: the same curve as on one rank, and checkpoints that do not tell.

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

Words shards(int ranks) {
  return set("mesh.data_parallel_shard", std::to_string(ranks));
}

class Sharded : public CurveTest {
 protected:
  void SetUp() override { run(named("alone")); }
};

TEST_F(Sharded, TrainsToTheSameCurve) {
  expect_same("two", shards(2));
  expect_same("hybrid", mesh(1, 2) + shards(2));
  expect_same("kept", shards(2) + set("parallelism.fully_shard.reshard_after_forward", "never"));
  expect_same("each", shards(2) + set("parallelism.fully_shard.reduce", "microbatch"));
  expect_same("recomputed", shards(2) + set("model_provider.enable_checkpointing", "true"));
  expect_same("zero1", mesh(1, 2) + set("parallelism.zero1", "true"));
}

TEST_F(Sharded, TrainsToTheSameCurveInAPipeline) {
  const Words always = set("parallelism.fully_shard.reshard_after_forward", "always");
  const Words each = set("parallelism.fully_shard.reduce", "microbatch");
  const Words split = mesh(2, 1) + shards(2) + schedule("1f1b, zero_bubble: true");
  expect_same("one_f_one_b", mesh(2, 1) + shards(2) + schedule("1f1b"));
  expect_same("resharded", mesh(2, 1) + shards(2) + schedule("1f1b") + always);
  expect_same("split_backward", split);
  expect_same("split_resharded", split + always + each);
  expect_same("any_order", split + always + set("trainer.pipelining.order", "dynamic"));
}

TEST_F(Sharded, TrainsToTheSameCurveInTwoProcesses) {
  expect_same_in_two_processes("across", 2, shards(2));
  expect_same_in_two_processes("hybrid", 4, mesh(1, 2) + shards(2));
  expect_same_in_two_processes("stages", 4, mesh(2, 1) + shards(2) + schedule("1f1b"));
  expect_same_in_two_processes("zero1", 2, mesh(1, 2) + set("parallelism.zero1", "true"));
}

TEST_F(Sharded, GoesOnFromTheCheckpointOfAnotherMesh) {
  expect_same_in_halves("apart_then_together", shards(2), {});
  expect_same_in_halves("together_then_apart", {}, shards(2));
  expect_same_in_halves("zero1_then_hybrid", mesh(1, 2) + set("parallelism.zero1", "true"),
                        mesh(1, 2) + shards(2));
}

// Same mesh, so the same bits.
TEST_F(Sharded, GoesOnFromItsOwnCheckpointToTheBit) {
  run(named("through") + shards(2));

  run_in_halves("halves", shards(2), shards(2));

  EXPECT_EQ(job_.losses("halves"), job_.losses("through"));
}

TEST_F(Sharded, TrainsInBfloat16AsOneRankDoes) {
  for (const std::string& optimizer :
       {std::string("{name: adamw, lr: 0.003}"),
        std::string("{name: stochastic_adamw, lr: 0.003, state_dtype: bfloat16}")}) {
    SCOPED_TRACE(optimizer);
    const Words half = set("model_provider.dtype", "bfloat16") + set("optimizer", optimizer) +
                       set("trainer.gradient_manager.grad_dtype", "float32");
    const std::string name = optimizer.substr(7, 10);
    run(named(name + "_alone") + half);
    run(named(name + "_sharded") + half + shards(2));
    const auto alone = job_.losses(name + "_alone");
    const auto sharded = job_.losses(name + "_sharded");

    EXPECT_LT(alone.back(), alone.front() - 0.5);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      // A bfloat16 has 8 bits: sums of other orders round otherwise, step after step.
      EXPECT_NEAR(sharded.at(i), alone[i], 5e-3 * alone[i]) << "at step " << i + 1;
    }
    const auto exact = job_.losses("alone");
    EXPECT_NE(alone.front(), exact.front()) << "this was float32";
    EXPECT_NEAR(alone.front(), exact.front(), 5e-3 * exact.front());
  }
}

TEST_F(Sharded, ExportsAndReadsWeightsAsOneRankDoes) {
  run(named("source") + shards(2) + set("export_to", "exported"));
  const Words from = set("trainer.model_stage_factory", "{source_checkpoint: exported}");

  run(named("by_one") + from);
  run(named("by_two") + from + shards(2));

  EXPECT_LT(job_.losses("by_one").front(), job_.losses("source").front() - 0.5);
  for (std::size_t i = 0; i < 20; ++i) {
    const double expected = job_.losses("by_one").at(i);
    EXPECT_NEAR(job_.losses("by_two").at(i), expected, 1e-5 * expected) << "at step " << i + 1;
  }
}

}  // namespace
}  // namespace d9d::test
