#include "runtime/resume/same_results.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/job/job_text.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* text = R"(inference:
  run: {name: asked}
  batching: {global_batch_size: 4, microbatch_size: 1}
  model_stage_factory: {source_checkpoint: one}
model_provider:
  name: qwen3
  model: {hidden_size: 64, num_hidden_layers: 4, num_attention_heads: 4, num_key_value_heads: 2, head_dim: 16,
          intermediate_size: 96, vocab_size: 512}
data: {source: tokens, tokens: tokens.npy}
)";

JobConfig job(const std::vector<std::string>& overrides = {}) {
  return testing_job::load(overrides, text).job;
}
std::string refusal(const std::vector<std::string>& overrides, bool knows_weights = true,
                    const std::vector<ChangedInput>& changes = {},
                    const std::vector<std::string>& tokenizer = {}) {
  const JobConfig now = job(overrides);
  const nlohmann::json then(resolved_keys(job()));
  return test::error_of([&] { require_same_results(now, then, changes, tokenizer, knows_weights); },
                        ErrorKind::input);
}
void expect_goes_on(const std::vector<std::string>& overrides) {
  require_same_results(job(overrides), nlohmann::json(resolved_keys(job())), {}, {}, true);
}

TEST(SameResults, OfAnotherModelTaskOrDataAreRefusedWithAWayToBeginAnew) {
  EXPECT_THAT(refusal({"model_provider.dtype=bfloat16"}),
              AllOf(HasSubstr("runs/asked/results holds results of another model, task or data: "
                              "model_provider.dtype"),
                    HasSubstr("Start with --fresh"), HasSubstr("inference.run.name")));
  EXPECT_THAT(refusal({"task={name: embedding}", "model_provider.head={kind: embedding}"}),
              HasSubstr("task"));
  EXPECT_THAT(refusal({"data.shuffle=true"}), HasSubstr("data.shuffle"));
  EXPECT_THAT(refusal({}, true, {{"weights", "one/model.safetensors has other bytes than then"}}),
              HasSubstr("weights changed: one/model.safetensors has other bytes"));
  EXPECT_THAT(refusal({}, true, {{"adapters", "a has other bytes than then"}}),
              HasSubstr("adapters changed"));
  EXPECT_THAT(refusal({}, true, {}, {"tokenizer.json"}), HasSubstr("the tokenizer's tokenizer.json changed"));
}

TEST(SameResults, GoOnWhereOnlyTheWorkIsDoneAnotherWay) {
  expect_goes_on({"inference.batching.global_batch_size=8", "mesh={pipeline_parallel: 2}",
                  "inference.schedule.total_steps=3", "data.epochs=2",
                  "inference.data_prefetch.prefetch_factor=3", "model_provider.enable_checkpointing=true",
                  "model_provider.checkpoint_keeps=[attention, linear]"});
  require_same_results(job(), nlohmann::json(resolved_keys(job())), {{"data", "more", true}}, {}, true);
}

// Of a checkpoint that has no prints the folder's name is all there is to go by.
TEST(SameResults, OfSamplesThatMoveWithMoreDataAreRefused) {
  for (const char* moves :
       {"data.shuffle=true", "data.epochs=2", "data.order={sorted: {buffer_size: 8, pack_size: 2}}",
        "data.order={shards: {count: 4, mode: chunked}}", "data.order={shards: {count: 4, turn: 2}}",
        "data={source: token_lists, files: [a.jsonl], sequence_length: 8, samples: packed}"}) {
    const JobConfig moved = job({moves});
    EXPECT_THAT(test::error_of(
                    [&] {
                      require_same_results(moved, nlohmann::json(resolved_keys(moved)),
                                           {{"data", "more", true}}, {}, true);
                    },
                    ErrorKind::input),
                HasSubstr("data changed: more"))
        << moves;
  }
}

// More rows would be put into the last sample of before.
TEST(SameResults, OfRowsThatMoreSamplesFillUpAreRefused) {
  const char* const rows = "data={source: token_lists, files: [a.jsonl], sequence_length: 8, max_samples: 4}";
  const char* const documents =
      "data={source: token_lists, files: [a.jsonl], sequence_length: 8, max_samples: 4, samples: document}";
  const auto why = [](const JobConfig& then, const JobConfig& now) {
    return test::error_of(
        [&] { require_same_results(now, nlohmann::json(resolved_keys(then)), {}, {}, true); },
        ErrorKind::input);
  };

  EXPECT_THAT(why(job({rows}), job({rows, "data.max_samples=6"})), HasSubstr("data.max_samples"));
  require_same_results(job({documents, "data.max_samples=6"}),
                       nlohmann::json(resolved_keys(job({documents}))), {}, {}, true);
}

// A file of text that grows may go on in its last document, which has a result already.
TEST(SameResults, OfATextThatGoesOnAreRefused) {
  const JobConfig lines =
      job({"data={source: text, files: [a.txt], tokenizer: t.json, sequence_length: 8, "
           "samples: document, document: line}"});
  const auto after = [&](const std::string& old_end) {
    require_same_results(lines, nlohmann::json(resolved_keys(lines)),
                         {{"data", "more", true, "a.txt", old_end}}, {}, true);
  };

  EXPECT_THAT(test::error_of([&] { after("what"); }, ErrorKind::input), HasSubstr("data changed: more"));
  after("hat\n");
}

TEST(SameResults, AreThoseOfTheWeightsAndNotOfTheirPlace) {
  expect_goes_on({"inference.model_stage_factory.source_checkpoint=moved"});
  EXPECT_THAT(refusal({"inference.model_stage_factory.source_checkpoint=moved"}, false),
              HasSubstr("source_checkpoint"));
}

}  // namespace
}  // namespace d9d
