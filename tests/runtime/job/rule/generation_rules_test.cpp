#include "runtime/job/rule/generation_rules.hpp"

#include <gmock/gmock.h>

#include "runtime/family/qwen3/config.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GenerationRules : public testing::Test {
 protected:
  GenerationRules() {
    job_.inference = InferenceConfig{};
    job_.task = GenerationConfig{.max_new_tokens = 20};
    job_.data = SyntheticDataConfig{.sequence_length = 12};
    model_.max_position_embeddings = 32;
  }
  std::vector<std::string> paths() {
    std::vector<std::string> paths;
    for (const JobIssue& issue : generation_issues(job_, &model_)) paths.push_back(issue.path);
    return paths;
  }

  JobConfig job_;
  Qwen3Config model_;
};

TEST_F(GenerationRules, HaveNothingAgainstAJobThatFits) {
  job_.mesh.data_parallel_shard = 2;
  job_.mesh.tensor_parallel = 2;
  job_.mesh.pipeline_parallel = 2;

  EXPECT_THAT(paths(), IsEmpty());
}

TEST_F(GenerationRules, NameWhatCannotBe) {
  job_.inference.reset();
  EXPECT_THAT(paths(), ElementsAre("task"));
  job_.inference = InferenceConfig{};
  job_.mesh.context_parallel_replicate = 2;
  EXPECT_THAT(paths(), ElementsAre("mesh.context_parallel_shard"));
  job_.mesh.context_parallel_replicate = 1;
  job_.trainer.batching.cut_to_longest = true;
  EXPECT_THAT(paths(), ElementsAre("inference.batching.cut_to_longest"));
  job_.trainer.batching.cut_to_longest = false;
  job_.task = GenerationConfig{.max_new_tokens = 20, .repetition_penalty = 0};
  EXPECT_THAT(paths(), ElementsAre("task.repetition_penalty"));
  job_.task = GenerationConfig{.max_new_tokens = 20, .stop_texts = {"\n\n"}};
  EXPECT_THAT(paths(), ElementsAre("task.stop_texts")) << "no tokenizer";
  job_.task = GenerationConfig{.max_new_tokens = 20, .stop_texts = {""}};
  EXPECT_THAT(paths(), ElementsAre("task.stop_texts", "task.stop_texts"));
  job_.task = GenerationConfig{.max_new_tokens = 21, .top_p = 0};
  EXPECT_THAT(paths(), ElementsAre("task.top_p", "task.max_new_tokens"));
  job_.task = GenerationConfig{.max_new_tokens = 1};
  model_.heads[""] = EmbeddingHead{};
  EXPECT_THAT(paths(), ElementsAre("task"));
}

TEST_F(GenerationRules, AreOfThisTaskAlone) {
  job_.task = CausalLmConfig{};
  job_.mesh.pipeline_parallel = 4;

  EXPECT_THAT(paths(), IsEmpty());
}

}  // namespace
}  // namespace d9d
