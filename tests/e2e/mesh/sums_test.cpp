// Gradients of bfloat16 parameters: the mean over equal microbatches is the gradient of one, however many there are and
// on whatever mesh. A sum of 16 bits stands still after some hundred of them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int rows = 2048, length = 6;
constexpr const char* job_text = R"(trainer:
  run: {name: tiny}
  batching: {global_batch_size: 1, microbatch_size: 1}
  schedule: {total_steps: 1}
  determinism: {base_seed: 3}
  logging: {period_steps: 1, tracker: {provider: "null"}}
model_provider:
  name: qwen3_moe
  dtype: bfloat16
  model: {hidden_size: 32, intermediate_size: 48, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2,
          head_dim: 8, vocab_size: 61, tie_word_embeddings: true, initializer_range: 0.3, moe_intermediate_size: 16,
          num_experts: 4, num_experts_per_tok: 2}
data: {source: tokens, tokens: tokens.npy}
optimizer: {name: adamw, lr: 0.001}
)";

class Sums : public testing::Test {
 protected:
  void SetUp() override {
    job_.folder().write("job.yaml", job_text);
    job_.folder().write("tokens.npy", npy_file(rows, length, [](int, int column) { return 1 + 7 * column; }));
  }

  double norm_of(int microbatches, const Words& words) {
    const std::string run = "run" + std::to_string(runs_++);
    const Outcome outcome = job_.run(
        named(run) + set("trainer.batching.global_batch_size", std::to_string(microbatches)) + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? job_.values(run, "grad_norm").at(0) : 0;
  }
  void expect_same_norm(const std::string& mesh, const std::vector<int>& counts, const Words& more = {}) {
    SCOPED_TRACE(mesh);
    const Words words = set("mesh", "{" + mesh + "}") + more;
    const double expected = norm_of(counts.front(), words);
    EXPECT_GT(expected, 0.1);
    for (const int count : counts) EXPECT_NEAR(norm_of(count, words), expected, 1e-4 * expected) << count;
  }
  nlohmann::json check(const Words& words) {
    const Outcome outcome = job_.call(Words{"check", "job.yaml", "--json"} + words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

  TinyJob job_;
  int runs_ = 0;
};

TEST_F(Sums, OfEqualMicrobatchesHaveTheNormOfOne) {
  expect_same_norm("", {1, 512, 2048});
}

TEST_F(Sums, OfEqualMicrobatchesHaveTheNormOfOneOnEveryMesh) {
  expect_same_norm("pipeline_parallel: 2", {1, 1024});  // with a table on both stages
  expect_same_norm("data_parallel_replicate: 4", {4, 2048});
  expect_same_norm("data_parallel_shard: 2", {2, 1024});
  expect_same_norm("data_parallel_shard: 2", {2, 1024}, set("parallelism.fully_shard.reduce", "microbatch"));
  expect_same_norm("data_parallel_shard: 2, data_parallel_replicate: 2", {4, 2048});
  expect_same_norm("data_parallel_shard: 2, expert_parallel: 2", {2, 1024});
  expect_same_norm("tensor_parallel: 2", {1, 512});
}

TEST_F(Sums, OfAdaptersHaveTheNormOfOneMicrobatch) {
  const Words lora =
      set("model_provider.peft",
          "{kind: lora, module_name_pattern: '.*(_proj|experts.*)', params: {r: 4, alpha: 8}}");
  expect_same_norm("", {1, 1024}, lora);
  expect_same_norm("data_parallel_shard: 2", {2, 1024}, lora);
}

TEST_F(Sums, OfPredictedTokensHaveTheNormOfOneMicrobatch) {
  job_.rewrite("qwen3_moe", "deepseek_v3");
  job_.rewrite(
      "num_key_value_heads: 2,\n          head_dim: 8, vocab_size: 61, tie_word_embeddings: true",
      "kv_lora_rank: 8, qk_nope_head_dim: 8,\n          qk_rope_head_dim: 4, v_head_dim: 8, vocab_size: 61, "
      "n_shared_experts: 1, num_nextn_predict_layers: 1, mtp_loss_factor: 0.3");
  job_.rewrite("num_experts: 4", "n_routed_experts: 4");
  expect_same_norm("", {1, 1024});
  expect_same_norm("pipeline_parallel: 2", {1, 512});
}

TEST_F(Sums, AreCountedAndNamedByCheck) {
  const Words narrow = set("trainer.gradient_manager.grad_dtype", "bfloat16");
  const auto bytes = [&](const Words& words) {
    return check(words)["memory"][0]["gradient_bytes"].get<std::int64_t>();
  };
  const std::int64_t elements = check({})["parameters"].get<std::int64_t>();

  EXPECT_EQ(bytes({}), 4 * elements);
  EXPECT_EQ(bytes(narrow), 2 * elements);
  EXPECT_EQ(bytes(set("model_provider.dtype", "float32")), 4 * elements);
  EXPECT_THAT(job_.call({"check", "job.yaml"}).out,
              HasSubstr("gradients summed in float32, of bfloat16 parameters\n"));
  EXPECT_THAT(job_.call(Words{"check", "job.yaml"} + set("model_provider.dtype", "float32")).out,
              Not(HasSubstr("summed in")));
}

TEST_F(Sums, Of16BitsAreACautionOfRunAndCheck) {
  const Words narrow = set("trainer.gradient_manager.grad_dtype", "bfloat16");
  const std::string caution =
      "trainer.gradient_manager.grad_dtype: bfloat16, so what is less than 1/256 of the sum of a step's "
      "gradients";

  const Outcome checked = job_.call(Words{"check", "job.yaml"} + narrow), ran = job_.run(narrow);

  EXPECT_EQ(checked.code, 0);
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(checked.err, HasSubstr(caution));
  EXPECT_THAT(ran.err, HasSubstr(caution));
  EXPECT_THAT(job_.call({"check", "job.yaml"}).err, Not(HasSubstr("grad_dtype")));
}

}  // namespace
}  // namespace d9d::test
