// Fine-tuning by a job file: adapters on a frozen model, resumed without
// its weights, merged or exported alone, and started from.
#include <gmock/gmock.h>

#include <cmath>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/state/checkpoint/manifest.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

const Words adapters =
    set("model_provider.peft",
        "{kind: lora, module_name_pattern: \".*_proj\", params: {r: 4, alpha: 8, dropout: 0.1}}") +
    set("trainer.model_stage_factory.source_checkpoint", "source");
const Words without_dropout = set("model_provider.peft.params.dropout", "0");
const Words trainable_only = set("trainer.model_stage_factory.checkpoint_only_trainable_parameters", "true");
const Words four_ranks = mesh(2, 2) + experts_on(2);

class FineTuning : public testing::Test {
 protected:
  void SetUp() override {
    job_.rewrite("{period_steps: last_step}", "{period_steps: 10}");
    ASSERT_THAT(job_.run(named("source") + set("export_to", "source")), ends_well());
  }

  Outcome run(const Words& words) {
    Outcome outcome = job_.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }

  nlohmann::json json_of(const std::string& file) const {
    return nlohmann::json::parse(std::ifstream(job_.folder() / file));
  }

  double first_loss(const std::string& run_name, const Words& words) {
    run(named(run_name) + words);
    return job_.losses(run_name).at(0);
  }

  TinyJob job_;
};

TEST_F(FineTuning, ResumesWithoutTheFrozenWeightsAsIfNothingHadHappened) {
  const Words words = named("tuned") + adapters + trainable_only + four_ranks;
  run(words);
  const auto whole = job_.exact_curve("tuned");
  const PosixDisk disk;
  const auto checkpoints = job_.run_folder("tuned") / "checkpoints";
  for (const ManifestEntry& entry : read_manifest(disk, (checkpoints / "save-20").string()).entries) {
    EXPECT_THAT(entry.name, HasSubstr(".lora_")) << entry.kind;
  }

  std::filesystem::remove_all(checkpoints / "save-20");
  const Outcome again = run(words);

  EXPECT_THAT(again.err, HasSubstr("resuming from runs/tuned/checkpoints/save-10"));
  EXPECT_EQ(job_.exact_curve("tuned"), whole);
}

TEST_F(FineTuning, LeavesAnAdapterAndAMergedModelThatComputeTheSame) {
  const Words tuned = adapters + without_dropout + set("optimizer.lr", "0.02");
  run(named("tuned") + tuned + trainable_only + four_ranks + set("export_to", "merged") +
      set("export_adapter_to", "adapter"));
  const nlohmann::json config = json_of("adapter/adapter_config.json");
  EXPECT_EQ(config["r"], 4);
  EXPECT_EQ(config["target_modules"].size(), 7U);

  const double plain = first_loss("plain", set("trainer.model_stage_factory.source_checkpoint", "source"));
  const double merged = first_loss("merged", set("trainer.model_stage_factory.source_checkpoint", "merged"));
  const double adapted = first_loss("adapted", tuned + set("model_provider.peft.from", "adapter"));

  EXPECT_GT(std::abs(plain - merged), 1e-3) << "training changed nothing";
  EXPECT_NEAR(adapted, merged, 1e-5 * merged);
}

TEST_F(FineTuning, RefusesWhatCannotBe) {
  const auto refused = [&](const Words& words, const char* text) {
    EXPECT_THAT(job_.run(words), is_refused(text));
  };
  refused(adapters + set("model_provider.peft.module_name_pattern", "q_proj"),
          "model_provider.peft.module_name_pattern: matches no linear layer");
  refused(adapters + set("model_provider.peft.from", "source"),
          "model_provider.peft.from: source/adapter_config.json is not there");
  refused(set("export_adapter_to", "adapter"), "export_adapter_to: the model has no adapter");
}

}  // namespace
}  // namespace d9d::test
