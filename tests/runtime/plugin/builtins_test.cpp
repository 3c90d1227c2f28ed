#include "runtime/plugin/builtins.hpp"

#include <gmock/gmock.h>

#include "runtime/base/config/parse.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/task/inference_task.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;

struct ReadsEach final : TrainTask {
  TokenLabels labels() const override { return TokenLabels::own; }
  ForwardInputs build_forward_inputs(const MicrobatchContext& /*context*/) const override { return {}; }
  Loss compute_loss(const LossContext& /*context*/) const override { return {}; }
};

struct InfersOfEach final : InferenceTask {
  TokenLabels labels() const override { return TokenLabels::own; }
  ForwardInputs build_forward_inputs(const MicrobatchContext& /*context*/) const override { return {}; }
  void process_outputs(const InferenceContext& /*context*/) override {}
};

// The first sample of one text, for a task of that name.
Sample sample_for(const std::string& kind, const std::string& task) {
  const TemporaryFolder folder;
  folder.write("text.jsonl", "{\"input_ids\": [5, 6, 7]}\n");
  const bool infers = kind == "inference";
  const LoadedJob loaded = load_job(
      config::parse("plugins: [mine.so]\n" + kind +
                        ":\n  run: {name: r}\n  batching: {global_batch_size: 1, microbatch_size: 1}\n" +
                        (infers ? "" : "  schedule: {total_steps: 1}\noptimizer: {name: adamw, lr: 0.1}\n") +
                        "model_provider: {name: qwen3, model: {vocab_size: 8, hidden_size: 8, "
                        "intermediate_size: 8, num_hidden_layers: 1, num_attention_heads: 1, "
                        "num_key_value_heads: 1, head_dim: 8}}\ntask: {name: " +
                        task + "}\ndata: {source: token_lists, files: [" + (folder / "text.jsonl").string() +
                        "], format: jsonl, samples: document, sequence_length: 4}\n",
                    "job.yaml"),
      {});
  PosixDisk disk;
  Registry registry = builtin_registry(loaded, disk);
  registry.add_task("reads_each", [](const config::Section&) { return std::make_shared<ReadsEach>(); });
  registry.add_inference_task("infers_of_each", [](const config::Section&, const InferencePlace&) {
    return std::make_shared<InfersOfEach>();
  });
  const JobConfig& job = loaded.job;
  const TokenLabels labels = infers ? labels_for(job, *make_inference_task(registry, job, 0))
                                    : labels_for(job, *make_task(registry, job));
  return make_source(registry, job.data, loaded, labels)->at(0);
}

TEST(Builtins, SamplesHaveTheLabelsThatTheTaskReads) {
  for (const auto& [kind, task] : {std::pair{"trainer", "reads_each"},
                                   {"inference", "infers_of_each"},
                                   {"inference", "generation, max_new_tokens: 1"}}) {
    const Sample sample = sample_for(kind, task);
    EXPECT_THAT(sample.labels, ElementsAre(5, 6, 7, ignored_label)) << task;
    EXPECT_THAT(sample.token_mask, ElementsAre(true, true, true, false)) << task;
  }
  EXPECT_THAT(sample_for("trainer", "causal_lm").labels, ElementsAre(6, 7, ignored_label, ignored_label));
}

}  // namespace
}  // namespace d9d::test
