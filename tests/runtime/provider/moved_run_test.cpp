#include "runtime/provider/moved_run.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/base/config/parse.hpp"
#include "runtime/state/checkpoint/checkpoint_reader.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/runtime/state/dcp/golden_dcp.hpp"
#include "tests/runtime/state/expect.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/runtime/state/test_disks.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// The models of tests/golden/state_dcp, with the original's keys.
constexpr const char* sizes_of_both =
    R"(hidden_size: 8, intermediate_size: 4, num_attention_heads: 2, num_key_value_heads: 1, head_dim: 4,
       rms_norm_eps: 1.0e-6)";
const std::string sparse_model =
    std::string("{name: qwen3_moe, model: {layer: {") + sizes_of_both +
    R"(, num_experts: 4, experts_top_k: 2}, num_hidden_layers: 2, rope_base: 10000,
      max_position_ids: 64, split_vocab_size: {regular: 6, special: 2}, split_vocab_order: [regular, special]}})";
const std::string dense_model = std::string("{name: qwen3, dtype: bfloat16, model: {layer: {") +
                                sizes_of_both +
                                R"(}, num_hidden_layers: 1, rope_base: 10000, max_position_ids: 64,
      split_vocab_size: {regular: 8}, split_vocab_order: [regular]}})";

class AMovedRun : public testing::Test {
 protected:
  LoadedJob job(const std::string& model, const std::vector<std::string>& overrides = {}) {
    const std::string text =
        "trainer:\n  run: {name: moved}\n  batching: {global_batch_size: 4, microbatch_size: 1}\n"
        "  schedule: {total_steps: 9}\n"
        "data: {source: synthetic, sequence_length: 8, vocab_size: 8}\n"
        "optimizer: {name: adamw, lr: 0.01}\noutput_dir: " +
        (folder_ / "run") + "\nmodel_provider: " + model + "\n";
    return load_job(config::parse(text, "job.yaml"), overrides);
  }
  MovedRun move(const LoadedJob& loaded, RunMove move) { return move_run(disk_, loaded, move); }
  std::string unpacked(const std::string& name, const std::string& step) {
    unpack_dcp(name, folder_ / name + "/" + step);
    return folder_ / name;
  }
  std::string refusal(const LoadedJob& loaded, const RunMove& how) {
    return error_of([&] { move(loaded, how); }, ErrorKind::input);
  }

  const Scratch folder_;
  QuickDisk disk_;
};

TEST_F(AMovedRun, HasTheWeightsAndMomentsOfFourRanksUnderTheNamesOfHere) {
  const LoadedJob loaded = job(sparse_model);
  const MovedRun moved = move(loaded, {.from = unpacked("sparse", "save-3"), .shard_bytes = 4096});
  const auto reader = CheckpointReader::open(disk_, moved.checkpoint);
  const SafetensorsReader golden(disk_, golden_dcp("sparse.safetensors"));

  EXPECT_THAT(moved.notes, IsEmpty());
  EXPECT_EQ(moved.num_tensors, golden.names().size());
  EXPECT_GT(reader->manifest().files.size(), 3U);
  EXPECT_TRUE(moved.checkpoint.ends_with("/run/checkpoints/save-3")) << moved.checkpoint;
  EXPECT_EQ(reader->manifest().step, 3U);
  EXPECT_EQ(reader->manifest().data_cursor, 12U);
  const std::map<std::string, std::string> renamed{
      {"model.embed_tokens.special.weight", "model.embed_tokens.token_embedding.special.weight"},
      {"lm_head.regular.weight", "head.lm_head.regular.weight"},
      {"model.layers.0.mlp.gate.weight", "model.layers.0.mlp.router.gate.weight"},
      {"model.layers.1.self_attn.q_norm.weight", "model.layers.1.self_attn.q_norm.weight"}};
  for (const std::string kind : {"param", "exp_avg", "exp_avg_sq"}) {
    for (const auto& [here, there] : renamed)
      EXPECT_TRUE(same(reader->read(kind, here), golden.read(kind + "/" + there))) << kind << " " << here;
    for (const std::string projection : {"gate_proj", "up_proj", "down_proj"}) {
      const at::Tensor there =
          golden.read(kind + "/model.layers.1.mlp.grouped_experts." + projection + ".weight").transpose(1, 2);
      EXPECT_TRUE(same(reader->read(kind, "model.layers.1.mlp.experts." + projection + ".weight"), there))
          << kind << " " << projection;
    }
  }
}

TEST_F(AMovedRun, OfOneProcessInBfloat16HasAVocabularyWithoutParts) {
  const MovedRun moved = move(job(dense_model), {.from = unpacked("dense", "save-5"), .next_sample = 77});
  const auto reader = CheckpointReader::open(disk_, moved.checkpoint);
  const SafetensorsReader golden(disk_, golden_dcp("dense.safetensors"));

  EXPECT_EQ(reader->manifest().step, 5U);
  EXPECT_EQ(reader->manifest().data_cursor, 77U);
  for (const std::string kind : {"param", "exp_avg", "exp_avg_sq"}) {
    EXPECT_TRUE(same(reader->read(kind, "model.embed_tokens.weight"),
                     golden.read(kind + "/model.embed_tokens.token_embedding.regular.weight")));
    EXPECT_TRUE(
        same(reader->read(kind, "lm_head.weight"), golden.read(kind + "/lm_head.lm_head.regular.weight")));
    EXPECT_TRUE(same(reader->read(kind, "model.layers.0.mlp.down_proj.weight"),
                     golden.read(kind + "/model.layers.0.mlp.down_proj.weight")));
  }
  EXPECT_TRUE(nlohmann::json::parse(reader->extra()).at("ranks").empty());
}

TEST_F(AMovedRun, MayHaveItsWeightsAlone) {
  const MovedRun moved =
      move(job(dense_model), {.from = unpacked("dense", "save-5"), .moments = Moments::left_out});

  EXPECT_EQ(moved.num_tensors, 14U);
  EXPECT_THAT(moved.notes, testing::ElementsAre(HasSubstr("no moments: `d9d-node export`")));
}

TEST_F(AMovedRun, TakesRulesForOtherNames) {
  const std::string rules = folder_ / "rules.yaml";
  write_text(disk_, rules,
             "rules:\n"
             "  - {do: rename, from: \"model.embed_tokens.token_embedding.regular.weight\", to: "
             "model.embed_tokens.weight}\n"
             "  - {do: rename, from: \"lm_head.lm_head.regular.weight\", to: lm_head.weight}\n");

  const MovedRun moved = move(job(dense_model), {.from = unpacked("dense", "save-5"), .mapper = rules});

  EXPECT_EQ(moved.num_tensors, 42U);
}

TEST_F(AMovedRun, IsRefusedForAnotherModel) {
  const std::string from = unpacked("sparse", "save-3"), other = unpacked("dense", "save-5");

  EXPECT_THAT(
      refusal(job(dense_model, {"model_provider.model.layer.intermediate_size=6"}), {.from = other}),
      AllOf(HasSubstr("[4, 8] in the checkpoint and [6, 8] in the model of the job: mend model_provider")));
  EXPECT_THAT(refusal(job(sparse_model, {"model_provider.model.num_hidden_layers=3"}), {.from = from}),
              AllOf(HasSubstr("it lacks \"model.layers.2."),
                    HasSubstr("or give the names with --mapper RULES.yaml")));
}

TEST_F(AMovedRun, IsRefusedWhereARunHasCheckpointsAlready) {
  const LoadedJob loaded = job(dense_model);
  const std::string from = unpacked("dense", "save-5");
  move(loaded, {.from = from});

  EXPECT_THAT(refusal(loaded, {.from = from}),
              HasSubstr("give the job another trainer.run.name, or move them away"));
}

TEST_F(AMovedRun, IsRefusedWhenTheOptimizersNumbersHaveNoNames) {
  const std::string from = unpacked("dense", "save-5");

  EXPECT_THAT(
      refusal(job(dense_model), {.from = from, .buffers = {"model.norm.*"}}),
      AllOf(HasSubstr("state.optimizer.pp_0_stage_0 numbers 14 parameters, of which 14 have a state"),
            HasSubstr("holds 13 tensors"), HasSubstr("--buffers PATTERN"), HasSubstr("With --weights")));
}

TEST_F(AMovedRun, NeedsACheckpointOfTheOriginal) {
  EXPECT_THAT(refusal(job(dense_model), {.from = folder_ / "nowhere"}), HasSubstr("nowhere is not there"));
  disk_.make_directories(folder_ / "empty");
  EXPECT_THAT(refusal(job(dense_model), {.from = folder_ / "empty"}),
              HasSubstr("is no checkpoint of torch.distributed.checkpoint and holds none"));
  const std::string other = folder_ / "other";
  disk_.make_directories(other);
  set_bytes(other + "/.metadata", bytes_of(golden_dcp("bad/good")));
  set_bytes(other + "/__0_0.distcp", std::string(4096, '\0'));
  EXPECT_THAT(refusal(job(dense_model), {.from = other}),
              HasSubstr("expected state.schedule.current_step (or state.stepper.current_step)"));
}

}  // namespace
}  // namespace d9d::test
