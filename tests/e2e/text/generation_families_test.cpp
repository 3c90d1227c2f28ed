// Texts of models of every kind: what one rank makes greedily, meshes of up to four ranks make, token for token.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/e2e/mesh/every_mesh_models.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/meshes.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

constexpr int prompts_of_family = 13;  // no multiple of a batch
constexpr int longest_prompt = 12;
constexpr int filling = 89;

constexpr const char* texts_yaml = R"(inference:
  run: {name: alone}
  batching: {global_batch_size: 8, microbatch_size: 2}
  determinism: {base_seed: 3}
data: {source: tokens, tokens: tokens.npy}
task: {name: generation, max_new_tokens: 7, temperature: 0, padding_id: 89}
node: {threads_per_rank: 1, trace: false, heartbeat_ms: 10000}
model_provider:
  model:
    hidden_size: 32
    num_hidden_layers: 4
    num_attention_heads: 8
    num_key_value_heads: 4
    head_dim: 6
    vocab_size: 90
    max_position_embeddings: 64
)";

struct GeneratingFamily {
  const char* name;
  const char* keys;
  bool experts = false;
  bool on_every_mesh = false;  // of four ranks; else some

  friend void PrintTo(const GeneratingFamily& family, std::ostream* out) { *out << family.name; }
};

class GenerationOfFamilies : public testing::TestWithParam<GeneratingFamily> {
 protected:
  void SetUp() override {
    job_.folder().write("job.yaml", std::string(texts_yaml) + with_sizes(GetParam().keys, sizes_for(4)));
    job_.folder().write("tokens.npy", npy_file(prompts_of_family, longest_prompt, [](int row, int column) {
                          const bool ends = column >= 3 + row % 7;
                          return static_cast<std::int32_t>(ends ? filling : (row * 37 + column * 11) % 88);
                        }));
  }
  std::map<int, nlohmann::json> texts_of(const std::string& run) {
    return json_lines_by_sample(job_.run_folder(run) / "results");
  }
  static Words run_named(const std::string& run) { return set("inference.run.name", run); }

  TinyJob job_;
};

TEST_P(GenerationOfFamilies, IsGreedyAlikeOnMeshes) {
  ASSERT_EQ(job_.run({}).code, 0);
  const auto expected = texts_of("alone");
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(prompts_of_family));
  std::set<std::string> different;
  for (const auto& [sample, line] : expected) different.insert(line.at("tokens").dump());
  EXPECT_GT(different.size(), 3U);
  int run = 0;
  for (const int ranks : {2, 3, 4}) {
    const auto all = meshes_of(ranks, {4, 4, GetParam().experts ? 8 : 0, /*context=*/false});
    for (const DeviceMeshParameters& m : ranks == 4 && !GetParam().on_every_mesh ? sampled(all, 4) : all) {
      if (m.data_parallel() == 3 || m.tensor_parallel == 3) continue;  // cannot share the batch, the heads
      const std::string name = "run" + std::to_string(run++);
      ASSERT_THAT(job_.run(run_named(name) + words_of(m)), ends_well()) << text_of(m);
      EXPECT_EQ(texts_of(name), expected) << text_of(m);
    }
  }
}

TEST_P(GenerationOfFamilies, IsTheSameOverStagesInTwoProcesses) {
  ASSERT_EQ(job_.run({}).code, 0);
  DeviceMeshParameters four;
  four.pipeline_parallel = 4;

  const auto [first, second] = job_.start_two(4, run_named("two") + words_of(four));

  EXPECT_EQ(first->wait(), 0) << first->err();
  EXPECT_EQ(second->wait(), 0) << second->err();
  EXPECT_EQ(texts_of("two"), texts_of("alone"));
}

TEST_P(GenerationOfFamilies, IsTheSameOnDelayedDevices) {
  ASSERT_EQ(job_.run({}).code, 0);
  DeviceMeshParameters one, stages;
  stages.pipeline_parallel = stages.tensor_parallel = 2;
  for (const DeviceMeshParameters& m : {one, stages}) {
    const std::string name = "late" + std::to_string(m.world_size());
    ASSERT_THAT(job_.run(run_named(name) + words_of(m) + set("node.device", "delayed")), ends_well())
        << text_of(m);
    EXPECT_EQ(texts_of(name), texts_of("alone")) << text_of(m);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GenerationOfFamilies,
                         testing::Values(GeneratingFamily{"qwen3", dense_model},
                                         GeneratingFamily{"qwen3_moe", moe_model, true, true},
                                         GeneratingFamily{"deepseek_v3", deepseek_v3_model, true},
                                         GeneratingFamily{"qwen3_next", qwen3_next_model, true},
                                         GeneratingFamily{"gemma3_text", gemma3_text_model},
                                         GeneratingFamily{"gpt_oss", gpt_oss_model, true}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace d9d::test
