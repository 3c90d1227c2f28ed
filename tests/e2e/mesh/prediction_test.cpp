// Multi-token prediction in whole jobs: the results are those of one rank, and a job starts from the folder that
// such a job exports.
#include <gmock/gmock.h>

#include <iterator>
#include <map>

#include "tests/support/curve_test.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class PredictsFurtherTokens : public CurveTest {
 protected:
  PredictsFurtherTokens() {
    job_.rewrite("name: qwen3_moe", "name: deepseek_v3");
    job_.rewrite(
        "    num_key_value_heads: 2\n    head_dim: 16\n    moe_intermediate_size: 64\n    num_experts: 4\n",
        "    intermediate_size: 96\n    kv_lora_rank: 16\n    qk_nope_head_dim: 16\n"
        "    qk_rope_head_dim: 8\n    v_head_dim: 16\n    first_k_dense_replace: 1\n"
        "    moe_intermediate_size: 64\n    n_routed_experts: 4\n    n_shared_experts: 1\n"
        "    num_nextn_predict_layers: 2\n    mtp_loss_factor: 0.5\n");
    job_.rewrite("microbatch_size: 2", "microbatch_size: 1");
  }
  void SetUp() override { run(named("alone")); }

  static Words shards(int ranks) { return set("mesh.data_parallel_shard", std::to_string(ranks)); }
  static Words sequences_on(int ranks) { return set("mesh.context_parallel_shard", std::to_string(ranks)); }

  std::vector<double> of_depth(const std::string& run, int depth) const {
    return job_.values(run, "metrics/loss_of_depth_" + std::to_string(depth));
  }
  std::string bytes_of(const std::string& file) const { return text_of_file(job_.folder() / file); }
};

// Of the 32 tokens of a sample module k predicts 32 - k.
TEST_F(PredictsFurtherTokens, ReportsTheLossesOfWhichTheLossIsMade) {
  const std::vector<double> losses = job_.losses("alone");
  std::map<int, std::vector<double>> depths;
  for (const int depth : {0, 1, 2}) depths[depth] = of_depth("alone", depth);

  for (std::size_t step = 0; step < losses.size(); ++step) {
    const double further = depths[1].at(step) * 31 / 32 + depths[2].at(step) * 30 / 32;
    EXPECT_NEAR(losses[step], depths[0].at(step) + 0.5 / 2 * further, 1e-5 * losses[step]);
  }
  for (const int depth : {0, 1, 2}) EXPECT_LT(depths[depth].back(), depths[depth].front() - 0.1) << depth;
}

TEST_F(PredictsFurtherTokens, IsToldByCheck) {
  EXPECT_THAT(job_.call({"check", "job.yaml"}).out,
              HasSubstr("2 layers and 2 modules of multi-token prediction, "));
}

TEST_F(PredictsFurtherTokens, TrainsToTheSameCurveOnEveryStrategy) {
  const std::map<std::string, Words> meshes{
      {"stages", mesh(2, 1) + schedule("1f1b")},
      {"zero_bubble", mesh(2, 1) + schedule("1f1b, zero_bubble: true")},
      {"both_ends", schedule("1f1b, num_stages_per_rank: 2")},
      {"replicas", mesh(2, 2) + schedule("1f1b") + set("parallelism.zero1", "true")},
      {"shards", shards(2)},
      {"shards_of_stages", mesh(2, 1) + shards(2) + schedule("1f1b")},
      {"matrices", mesh(2, 1) + matrices_on(2) + schedule("1f1b")},
      {"sequences", sequences_on(2)},
      {"experts", mesh(2, 2) + experts_on(2) + schedule("1f1b, zero_bubble: true")},
      {"recomputed", mesh(2, 1) + schedule("1f1b") + set("model_provider.enable_checkpointing", "true")}};
  for (const auto& [name, words] : meshes) {
    expect_same(name, words);
    for (const int depth : {0, 1, 2})
      EXPECT_NEAR(of_depth(name, depth).back(), of_depth("alone", depth).back(), 1e-4) << name << depth;
  }
}

TEST_F(PredictsFurtherTokens, GoesOnFromTheCheckpointOfAnotherMesh) {
  expect_same_in_halves("apart_then_together", mesh(2, 2) + schedule("1f1b"), {});
  expect_same_in_halves("together_then_apart", {}, mesh(2, 1) + shards(2));
}

TEST_F(PredictsFurtherTokens, StartsFromTheFolderThatItExports) {
  run(named("stages") + mesh(2, 1) + schedule("1f1b") + set("export_to", "of_stages"));
  const std::string file = bytes_of("of_stages/model.safetensors");

  for (const char* name : {"2.eh_proj", "3.shared_head.norm", "3.embed_tokens", "2.shared_head.head"})
    EXPECT_THAT(file.substr(0, 20'000), HasSubstr("model.layers." + std::string(name) + ".weight"));
  EXPECT_THAT(bytes_of("of_stages/config.json"), HasSubstr("\"num_nextn_predict_layers\": 2"));

  const Words from = set("trainer.model_stage_factory", "{source_checkpoint: of_stages}");
  run(named("from_alone") + from);
  run(named("from_stages") + from + mesh(2, 1) + schedule("1f1b"));
  expect_same_curve("from_stages", "from_alone", 0);
  for (const int depth : {0, 1, 2})
    EXPECT_LT(of_depth("from_alone", depth).front(), of_depth("alone", depth).front() - 0.2) << depth;
}

// The modules of a folder without them are drawn; without the key those of a folder are left out, as are those
// beyond the number of a job.
TEST_F(PredictsFurtherTokens, BeginsAndEndsWithTheKey) {
  run(named("with") + set("export_to", "with"));
  const Words from = set("trainer.model_stage_factory", "{source_checkpoint: with}");
  run(named("without") + from + set("model_provider.model.mtp_loss_factor", "null") +
      set("export_to", "without"));
  run(named("fewer") + from + set("model_provider.model.num_nextn_predict_layers", "1"));
  run(named("again") + set("trainer.model_stage_factory", "{source_checkpoint: without}"));

  EXPECT_THAT(bytes_of("without/model.safetensors").substr(0, 20'000), Not(HasSubstr("eh_proj")));
  EXPECT_THAT(bytes_of("runs/without/metrics.jsonl"), Not(HasSubstr("loss_of_depth")));
  EXPECT_LT(of_depth("fewer", 1).front(), of_depth("alone", 1).front() - 0.2);
  EXPECT_THAT(bytes_of("runs/fewer/metrics.jsonl"), Not(HasSubstr("loss_of_depth_2")));
  EXPECT_LT(of_depth("again", 0).front(), of_depth("alone", 0).front() - 0.2);
  EXPECT_GT(of_depth("again", 2).front(), of_depth("with", 2).back() + 0.2);
}

}  // namespace
}  // namespace d9d::test
