#include "runtime/text/generation_task.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/json_lines.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {
namespace {

GenerationTaskOptions options_of(std::int64_t max_new_tokens, std::optional<std::int64_t> padding) {
  GenerationTaskOptions options;
  options.generate.max_new_tokens = max_new_tokens;
  options.generate.temperature = 0;
  options.padding_id = padding;
  return options;
}

// Rows of the numbers of both, and a third one that stands for no sample.
TensorMap batch_of_three() {
  return {{"input_ids", at::tensor({5L, 9L, 2L, 7L, 7L, 9L, 6L, 7L, 3L, 8L, 1L, 1L}).view({3, 4})},
          {"sample_numbers", at::tensor({10L, 11L, -1L})}};
}

TEST(GenerationTask, GoesOnWithEachSample) {
  const TemporaryFolder folder;
  GenerationTask task(make_results({folder.path() / "results", 0}, ResultFormat::jsonl), 1, options_of(5, 7));
  const std::shared_ptr<StageModule> stage = stage_of(golden_model("moe"));
  stage->set_training(false);
  const TensorMap batch = batch_of_three();
  const ForwardInputs made = task.build_forward_inputs({1, 0, batch});

  const TensorMap outputs = task.running(stage, {})->forward(made.inputs, made.shared);
  task.process_outputs({1, 0, outputs, made.state, {10, 11, -1}});
  task.finalize();

  GenerateOptions greedy;
  greedy.temperature = 0;
  greedy.max_new_tokens = 5;
  const auto expected = Generator(*stage, greedy, 9).generate({{0, {5, 9, 2}}, {1, {7, 9, 6}}});
  const auto lines = json_lines(folder.path() / "results" / "00000.jsonl");
  ASSERT_EQ(lines.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(lines[i]["sample"], 10 + i);
    EXPECT_EQ(lines[i]["prompt_tokens"], 3);
    EXPECT_EQ(lines[i]["new_tokens"], expected[i].size());
    EXPECT_EQ(lines[i]["tokens"].get<std::vector<std::int64_t>>(), expected[i]);
  }
}

TEST(GenerationTask, EndsATextBehindAStopOfSeveralTokens) {
  const TemporaryFolder folder;
  const Tokenizer tokenizer = Tokenizer::from_file(D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json");
  GenerationTaskOptions options = options_of(5, 7);
  const std::shared_ptr<StageModule> stage = stage_of(golden_model("moe"));
  stage->set_training(false);
  const auto whole = Generator(*stage, options.generate, 9).generate({{10, {5, 9, 2}}}).front();
  const std::vector<std::int32_t> two{static_cast<std::int32_t>(whole[1]),
                                      static_cast<std::int32_t>(whole[2])};
  const std::string stop = tokenizer.decode(two);
  ASSERT_GT(tokenizer.encode(stop, false).size(), 1U);
  options.tokenizer = tokenizer;
  options.stops =
      std::make_shared<const StopTexts>(tokenizer, std::vector<std::string>{stop}, "task.stop_texts");
  options.generate.ends_here = [stops = options.stops](std::span<const std::int64_t> text) {
    return stops->end(text);
  };
  options.generate.repetition_penalty = 1.0001;  // prompts go along
  GenerationTask task(make_results({folder.path() / "results", 0}, ResultFormat::jsonl), 1, options);
  const TensorMap batch = batch_of_three();

  const ForwardInputs made = task.build_forward_inputs({1, 0, batch});
  task.process_outputs(
      {1, 0, task.running(stage, {})->forward(made.inputs, made.shared), made.state, {10, 11, -1}});
  task.finalize();

  const auto first = json_lines(folder.path() / "results" / "00000.jsonl").at(0);
  EXPECT_EQ(first["tokens"].get<std::vector<std::int64_t>>(),
            std::vector<std::int64_t>(whole.begin(), whole.begin() + 3));
  EXPECT_TRUE(first["text"].get<std::string>().ends_with(stop)) << first;
}

// transformers 25790, unsloth 3699: padding that is taken for a part of the prompt makes other texts.
TEST(GenerationTask, LeavesOutWhatFillsAPromptUpWhereverItStands) {
  const TemporaryFolder folder;
  const auto prompts = [&](std::optional<std::int64_t> padding, const TensorMap& more) {
    const GenerationTask task(make_results({folder.path() / "results", 0}, ResultFormat::jsonl), 1,
                              options_of(5, padding));
    TensorMap batch{{"input_ids", at::tensor({0L, 0L, 5L, 9L, 7L, 2L, 0L, 0L}).view({2, 4})},
                    {"labels", at::full({2, 4}, -100, at::kLong)},
                    {"sample_numbers", at::tensor({3L, 4L})}};
    batch.insert(more.begin(), more.end());
    const ForwardInputs made = task.build_forward_inputs({1, 0, batch});
    EXPECT_FALSE(made.shared.contains("token_mask"));
    std::vector<std::vector<std::int64_t>> found;
    for (std::int64_t row = 0; row < 2; ++row) {
      const auto length = made.shared.at("prompt_lengths")[row].item<std::int64_t>();
      const at::Tensor ids = made.inputs.at("input_ids")[row].narrow(0, 0, length).contiguous();
      found.emplace_back(ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + length);
    }
    return found;
  };
  const at::Tensor mask = at::tensor({0L, 0L, 1L, 1L, 1L, 1L, 0L, 0L}).view({2, 4}).to(at::kBool);
  const std::vector<std::vector<std::int64_t>> both{{5, 9}, {7, 2}};

  EXPECT_EQ(prompts({}, {{"token_mask", mask}}), both);
  EXPECT_EQ(prompts(0, {{"token_mask", mask}}), both);
  // The source says that the last two are another document, whatever their id is.
  const at::Tensor starts = at::tensor({0L, 0L, 0L, 0L, 0L, 0L, 2L, 2L}).view({2, 4});
  EXPECT_EQ(prompts(1, {{"document_starts", starts}}),
            (std::vector<std::vector<std::int64_t>>{{0, 0, 5, 9}, {7, 2}}));
  EXPECT_THROW(prompts({}, {{"token_mask", at::zeros({2, 4}, at::kBool)}}), Error);
}

TEST(GenerationTask, TakesTheFirstDocumentOfARowForThePrompt) {
  const TemporaryFolder folder;
  const GenerationTask task(make_results({folder.path() / "results", 0}, ResultFormat::jsonl), 1,
                            options_of(5, std::nullopt));
  const auto batch = [](std::int64_t last_label) {
    return TensorMap{{"input_ids", at::tensor({5L, 9L, 2L, 2L}).view({1, 4})},
                     {"labels", at::tensor({9L, -100L, -100L, last_label}).view({1, 4})},
                     {"document_starts", at::tensor({0L, 0L, 2L, 2L}).view({1, 4})},
                     {"sample_numbers", at::tensor({10L})}};
  };

  EXPECT_EQ(task.build_forward_inputs({1, 0, batch(-100)}).shared.at("prompt_lengths").item<std::int64_t>(),
            2);
  EXPECT_THROW(task.build_forward_inputs({1, 0, batch(3)}), Error);
}

}  // namespace
}  // namespace d9d::test
