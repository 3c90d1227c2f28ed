#include "runtime/nn/size/model_costs.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "runtime/family/gpt_oss/config.hpp"
#include "runtime/family/modernbert/config.hpp"
#include "runtime/family/qwen2_moe/config.hpp"
#include "runtime/family/qwen3_next/config.hpp"
#include "runtime/nn/model/initial_weights.hpp"

#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

// The workload `tiny_moe` of the benchmarks, whose figures the bench script counts on its own.
Qwen3Config tiny_moe() {
  Qwen3Config config;
  config.kind = Qwen3Kind::moe;
  config.vocab_size = 4096;
  config.hidden_size = 256;
  config.intermediate_size = 512;
  config.num_hidden_layers = 4;
  config.num_attention_heads = 8;
  config.num_key_value_heads = 2;
  config.head_dim = 32;
  config.num_experts = 8;
  config.num_experts_per_tok = 2;
  config.moe_intermediate_size = 256;
  return config;
}

class ModelCosts : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(
    Cases, ModelCosts,
    testing::Values("dense_tied", "dense_bias_yarn", "moe", "moe_mixed", "dense_families/llama",
                    "dense_families/llama_bias_tied", "dense_families/llama_mlp_bias", "dense_families/qwen2",
                    "dense_families/mistral", "dense_families/qwen2_window", "sparse_families/mixtral",
                    "sparse_families/qwen2_moe", "sparse_families/qwen2_moe_mixed", "sparse_families/gpt_oss",
                    "sparse_families/gpt_oss_balanced", "latent_families/deepseek_v3",
                    "latent_families/deepseek_v3_yarn", "latent_families/deepseek_v3_plain",
                    "qwen3_next/every_fourth", "qwen3_next/mixed", "gemma3_text/published",
                    "gemma3_text/capped", "modernbert/modernbert", "modernbert/modernbert_padded",
                    "modernbert/modernbert_full"),
    [](const auto& info) { return info.param.substr(info.param.rfind('/') + 1); });

TEST_P(ModelCosts, CountsTheParametersThatAreBuilt) {
  const GoldenModel golden = golden_model(GetParam());
  const FamilyModel& config = *golden.model;

  for (const StagePosition& position : {StagePosition{0, 1}, StagePosition{0, 2}, StagePosition{1, 2}}) {
    std::int64_t built = 0;
    for (const auto& p : config.build_stage(position, {})->parameters()) built += p.tensor.numel();
    EXPECT_EQ(count_parameters(config, position).total, built);
  }
}

TEST(ModelCosts, CountsOperationsAsTheBenchmarksDo) {
  const Qwen3Config config = tiny_moe();
  const std::int64_t tokens = 8 * 256;

  const double flops = training_flops_per_token(config, 256) * static_cast<double>(tokens);

  const std::int64_t per_layer = 256 * 256 * 2 + 2 * 256 * 64 + 2 * 3 * 256 * 256 + 256 * 8;
  const std::int64_t linear = 6 * (4 * per_layer + 256 * 4096) * tokens;
  const std::int64_t attention = 3LL * 4 * 2 * 2 * 256 * 256 * 256 * 8 * 257 / 512;
  EXPECT_DOUBLE_EQ(flops, static_cast<double>(linear + attention));
}

TEST(ModelCosts, AQueryReadsTheKeysOfItsWindow) {
  Qwen3Config config = tiny_moe();
  const double without = training_flops_per_token(config, 100);
  // Per key: a multiply-add of each head for the score and one for the sum, three times with backward.
  const double per_key = 3 * 2 * 2 * 8 * 32;
  std::int64_t unseen = 0;
  for (std::int64_t query = 30; query < 100; ++query) unseen += query + 1 - 30;

  config.windows = {30, {false, true, true, false}};

  EXPECT_NEAR(training_flops_per_token(config, 100),
              without - 2 * per_key * static_cast<double>(unseen) / 100, 1e-6 * without);
  config.windows.width = 100;
  EXPECT_DOUBLE_EQ(training_flops_per_token(config, 100), without);
}

TEST(ModelCosts, StagesAddUpToTheModel) {
  const Qwen3Config config = tiny_moe();
  double flops = 0;
  std::int64_t active = 0;

  for (int stage = 0; stage < 4; ++stage) {
    flops += training_flops_per_token(config, 100, {stage, 4});
    active += count_parameters(config, {stage, 4}).active;
  }

  EXPECT_DOUBLE_EQ(flops, training_flops_per_token(config, 100));
  EXPECT_EQ(active, count_parameters(config).active);
}

std::shared_ptr<FamilyModel> tiny_qwen2_moe() {
  auto config = std::make_shared<Qwen2MoeConfig>();
  config->vocab_size = 4096;
  config->hidden_size = 256;
  config->intermediate_size = 512;
  config->num_hidden_layers = 2;
  config->num_attention_heads = 8;
  config->num_key_value_heads = 2;
  config->head_dim = 32;
  config->max_position_embeddings = 512;
  config->num_experts = 8;
  config->num_experts_per_tok = 3;
  config->moe_intermediate_size = 256;
  config->shared_expert_intermediate_size = 512;
  return config;
}

std::shared_ptr<FamilyModel> tiny_modernbert() {
  auto config = std::make_shared<ModernBertConfig>();
  config->vocab_size = 4096;
  config->hidden_size = 256;
  config->intermediate_size = 384;
  config->num_hidden_layers = 3;
  config->num_attention_heads = 8;
  config->pad_token_id.reset();
  config->windows = {16, {false, true, true}};
  config->settle();
  return config;
}

std::shared_ptr<FamilyModel> tiny_gpt_oss() {
  auto config = std::make_shared<GptOssConfig>();
  config->vocab_size = 4096;
  config->hidden_size = 256;
  config->intermediate_size = config->moe_intermediate_size = 256;
  config->num_hidden_layers = 2;
  config->num_attention_heads = 8;
  config->num_key_value_heads = 2;
  config->head_dim = 32;
  config->num_experts = 8;
  config->num_experts_per_tok = 3;
  return config;
}

// Two delta nets, with two value heads to a key head in `grouped`, and an attention with a gate.
std::shared_ptr<FamilyModel> tiny_qwen3_next(bool grouped) {
  auto config = std::make_shared<Qwen3NextConfig>();
  config->vocab_size = 4096;
  config->hidden_size = 256;
  config->intermediate_size = 512;
  config->num_hidden_layers = 3;
  config->linear_layers = {true, true, false};
  config->num_attention_heads = 8;
  config->num_key_value_heads = 2;
  config->head_dim = 32;
  config->max_position_embeddings = 512;
  config->linear_num_key_heads = 4;
  config->linear_num_value_heads = grouped ? 8 : 4;
  config->linear_key_head_dim = 32;
  config->linear_value_head_dim = 64;
  config->num_experts = 8;
  config->num_experts_per_tok = 3;
  config->moe_intermediate_size = 256;
  config->shared_expert_intermediate_size = 512;
  return config;
}

TEST(ModelCosts, OfADeltaNetDoNotGrowWithTheSequence) {
  const auto model = tiny_qwen3_next(true);

  const LayerCosts near = layer_costs(*model, 128), far = layer_costs(*model, 4096);

  EXPECT_DOUBLE_EQ(near.layers[0], far.layers[0]);
  EXPECT_LT(near.layers[2], far.layers[2]);
  const double weights = 2.0 * static_cast<double>(model->layer(0).products);
  const double chunks = 2.0 * (8 * (3 * 32 * 64 + 64 * (32 + 2 * 64)) + 2 * 64 * 4 * 32);
  EXPECT_DOUBLE_EQ(near.layers[0], 3.0 * (weights + chunks));
}

std::int64_t bytes_in_use() {
  const auto info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

TEST(ModelCosts, EstimatesWhatForwardKeeps) {
  if (bytes_in_use() == 0) GTEST_SKIP() << "the allocator of a sanitizer does not count";
  at::set_num_threads(1);
  std::vector<std::shared_ptr<FamilyModel>> models{tiny_qwen2_moe(), tiny_gpt_oss(), tiny_qwen3_next(false),
                                                   tiny_qwen3_next(true), tiny_modernbert()};
  for (const Qwen3Kind family : {Qwen3Kind::dense, Qwen3Kind::moe}) {
    Qwen3Config config = tiny_moe();
    config.kind = family;
    config.num_hidden_layers = 2;
    config.num_experts_per_tok = 3;
    models.push_back(std::make_shared<Qwen3Config>(config));
  }
  for (const auto& model : models) {
    const FamilyModel& config = *model;
    const auto stage = config.build_stage({0, 1}, {});
    draw_initial_weights(stage->parameters(), 1);
    const TensorMap inputs = {{"input_ids", at::arange(300, at::kLong).view({2, 150})}};
    stage->forward(inputs, {{"labels", inputs.at("input_ids")}});  // tables and other first-time memory

    const std::int64_t before = bytes_in_use();
    const auto outputs = stage->forward(inputs, {{"labels", inputs.at("input_ids")}});
    const std::int64_t kept = bytes_in_use() - before;

    // Without WeightWork the head keeps its weight's gradient as well.
    const std::int64_t head = config.vocab_size * config.hidden_size * 4;
    const auto estimate = activation_bytes(config, {}, 300, 4, false) + head;
    EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(estimate), 1.0, 0.05)
        << kept << " of " << estimate;
  }
}

// By a first stage of three layers and one of one.
TEST(ModelCosts, EstimatesWhatACheckpointedLayerKeeps) {
  if (bytes_in_use() == 0) GTEST_SKIP() << "the allocator of a sanitizer does not count";
  at::set_num_threads(1);
  using kernels::KeptKind;
  const StagePosition first{0, 2};
  Qwen3Config dense = tiny_moe();
  dense.kind = Qwen3Kind::dense;
  const auto next = std::dynamic_pointer_cast<Qwen3NextConfig>(tiny_qwen3_next(true));
  const std::vector<std::shared_ptr<FamilyModel>> models{std::make_shared<Qwen3Config>(dense),
                                                         std::make_shared<Qwen3Config>(tiny_moe()),
                                                         tiny_qwen2_moe(), next};
  const TensorMap inputs = {{"input_ids", at::arange(300, at::kLong).view({2, 150})}};
  for (const auto& model : models) {
    const auto set_layers = [&](std::int64_t of_stage) {
      model->num_hidden_layers = 2 * of_stage;
      next->linear_layers.assign(static_cast<std::size_t>(2 * of_stage), true);
    };
    for (const auto& keeps : {std::vector<KeptKind>{},
                              {KeptKind::attention},
                              {KeptKind::attention, KeptKind::linear, KeptKind::experts}}) {
      const auto measured = [&](std::int64_t layers) {
        set_layers(layers);
        const auto stage =
            model->build_stage(first, {.checkpoint_activations = true, .checkpoint_keeps = keeps});
        draw_initial_weights(stage->parameters(), 1);
        stage->forward(inputs, {});  // tables and other first-time memory
        const std::int64_t before = bytes_in_use();
        const auto outputs = stage->forward(inputs, {});
        return bytes_in_use() - before;
      };
      const auto estimated = [&](std::int64_t layers) {
        set_layers(layers);
        return activation_bytes(*model, first, 300, 4, true, 1, {}, keeps);
      };

      const auto kept = static_cast<double>(measured(3) - measured(1));
      const auto estimate = static_cast<double>(estimated(3) - estimated(1));

      EXPECT_NEAR(kept / estimate, 1.0, 0.05)
          << kept << " of " << estimate << ", " << keeps.size() << " kinds";
    }
  }
}

TEST(ModelCosts, DividesWhatARankOfTensorParallelismKeepsButForWhatItGathers) {
  Qwen3Config config = tiny_moe();
  config.kind = Qwen3Kind::dense;
  const StagePosition middle{1, 4};

  const auto alone = activation_bytes(config, middle, 512, 4, false);
  const auto shared = activation_bytes(config, middle, 512, 4, false, 2);

  const std::int64_t inputs_of_attention_and_feed_forward = 2 * 512 * 256 * 4;
  EXPECT_EQ(2 * shared, alone + inputs_of_attention_and_feed_forward);
}

TEST(ModelCosts, OffloadingMovesTheFirstLayersOfAStageAndTwoAreOnTheirWay) {
  Qwen3Config config = tiny_moe();
  config.kind = Qwen3Kind::dense;
  config.num_hidden_layers = 8;
  const StagePosition middle{1, 4};  // two layers
  const std::int64_t all = activation_bytes(config, middle, 512, 4, false);

  const OffloadedBytes one = offloaded_bytes(config, middle, 512, 4, 1, false);
  const OffloadedBytes both = offloaded_bytes(config, middle, 512, 4, 9, false);
  const OffloadedBytes instead = offloaded_bytes(config, middle, 512, 4, 9, true);

  EXPECT_EQ(one.moved, all / 2);
  EXPECT_EQ(one.passing, all / 2);
  EXPECT_EQ(both.moved, all);
  EXPECT_EQ(both.passing, all);
  EXPECT_EQ(instead.moved, 2 * 512 * config.hidden_size * 4)
      << "what is kept of a layer that is computed again";
  EXPECT_EQ(offloaded_bytes(config, middle, 512, 4, 0, false).passing, 0);
}

TEST(ModelCosts, CheckpointingKeepsOneStatePerLayer) {
  const Qwen3Config config = tiny_moe();
  const StagePosition middle{1, 4};

  const auto full = activation_bytes(config, middle, 512, 4, false);
  const auto checkpointed = activation_bytes(config, middle, 512, 4, true);

  EXPECT_EQ(checkpointed, full + 512 * 256 * 4);
  EXPECT_LT(activation_bytes(config, {}, 512, 4, true), activation_bytes(config, {}, 512, 4, false) / 2);
}

TEST(ModelCosts, SumsOverRanksAreKeptInsteadOfTheirSummands) {
  using kernels::KeptKind;
  Qwen3Config config = tiny_moe();
  config.kind = Qwen3Kind::dense;
  const auto bytes = [&](const std::vector<KeptKind>& keeps) {
    return activation_bytes(config, {1, 4}, 512, 4, true, 2, {}, keeps);
  };
  const std::int64_t state = 512 * 256 * 4;  // of both ranks' tokens

  EXPECT_EQ(bytes({KeptKind::exchange}) - bytes({}), state / 2);
  EXPECT_EQ(bytes({KeptKind::linear}) - bytes({KeptKind::linear, KeptKind::exchange}), state / 2);
}

}  // namespace
}  // namespace d9d::test
