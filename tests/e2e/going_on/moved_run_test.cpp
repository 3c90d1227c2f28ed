// A run of the original goes on here: the real d9d-node converts its checkpoint and trains on, on two meshes.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/runtime/state/dcp/golden_dcp.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The model of tests/golden/state_dcp/sparse, with the original's keys.
constexpr const char* moved_yaml = R"(
trainer:
  run: {name: moved}
  batching: {global_batch_size: 4, microbatch_size: 1}
  schedule: {total_steps: 5}
  checkpointing: {period_steps: last_step}
  determinism: {base_seed: 1}
model_provider:
  name: qwen3_moe
  model:
    layer: {hidden_size: 8, intermediate_size: 4, num_experts: 4, experts_top_k: 2, num_attention_heads: 2,
            num_key_value_heads: 1, rms_norm_eps: 1.0e-6, head_dim: 4}
    num_hidden_layers: 2
    rope_base: 10000
    max_position_ids: 64
    split_vocab_size: {regular: 6, special: 2}
    split_vocab_order: [regular, special]
data: {source: synthetic, sequence_length: 8, vocab_size: 8}
optimizer: {name: adamw, lr: 0.01}
)";

TEST(ARunOfTheOriginal, GoesOnWithItsNextStepTheSameOnEveryMesh) {
  TinyJob job;
  unpack_dcp("sparse", job.folder() / "theirs/save-3");
  job.folder().write("moved.yaml", moved_yaml);

  std::vector<std::vector<double>> losses;
  for (const std::string run : {"one", "two"}) {
    const Words name = set("trainer.run.name", run);
    const Outcome converted =
        job.call(Words{"convert", "--from-dcp", "theirs", "--job", "moved.yaml"} + name);
    ASSERT_THAT(converted, prints("/save-3: 87 tensors, "));
    EXPECT_THAT(converted.out, HasSubstr("; 3 steps done, next sample 12 "));
    ASSERT_THAT(job.call(Words{"moved.yaml"} + name + (run == "one" ? mesh(1, 1) : mesh(2, 1))), ends_well());
    EXPECT_THAT(job.checkpoints(run), ElementsAre(3, 5));
    losses.push_back(job.losses(run));
  }

  ASSERT_EQ(losses[0].size(), 2U);
  ASSERT_EQ(losses[1].size(), 2U);
  for (std::size_t step = 0; step < 2; ++step) EXPECT_NEAR(losses[0][step], losses[1][step], 1e-5);
}

}  // namespace
}  // namespace d9d::test
