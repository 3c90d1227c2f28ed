#include "runtime/job/rule/inference_rules.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing_job::error_of;

const std::string inferring = R"(
inference:
  run: {name: looks}
  batching: {global_batch_size: 8, microbatch_size: 3}
  schedule: {total_steps: 4}
model_provider:
  name: qwen3
  model: {hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, head_dim: 16,
          intermediate_size: 64, vocab_size: 512, max_position_embeddings: 128}
data: {source: synthetic, sequence_length: 32, vocab_size: 512}
)";

TEST(InferenceRules, AJobTrainsOrInfers) {
  const std::string good = "inference.batching.microbatch_size=2";
  EXPECT_EQ(error_of({good}, inferring), "no error");
  EXPECT_THAT(error_of({good, "optimizer={name: sgd, lr: 1}"}, inferring),
              HasSubstr("optimizer: nothing trains in a job with a section `inference`"));
  EXPECT_THAT(
      error_of({good, "trainer={run: {name: x}, batching: {global_batch_size: 8, microbatch_size: 2}}"},
               inferring),
      HasSubstr("trainer: nothing trains"));
  EXPECT_THAT(error_of({"inference=null"}, inferring), HasSubstr("trainer: missing"));
}

TEST(InferenceRules, IssuesNameTheSectionOfTheFile) {
  EXPECT_THAT(error_of({}, inferring), HasSubstr("inference.batching.global_batch_size: 8 is not divisible"));
}

}  // namespace
}  // namespace d9d
