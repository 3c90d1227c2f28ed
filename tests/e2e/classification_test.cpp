// A classifier by a job file: from the body of a language model, on four ranks, exported and continued.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/data/sample_source.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/support/npy_file.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

constexpr int samples = 64;
constexpr int length = 16;

class Classification : public testing::Test {
 protected:
  static int token(int sample, int column) { return 10 + (7 * sample * sample + 13 * column * sample) % 50; }
  // Texts of tokens 10 to 59; the class is what the last of them is modulo 3.
  void SetUp() override {
    job_.folder().write("tokens.npy", npy_file(samples, length, [](int sample, int column) {
                          return static_cast<std::int32_t>(token(sample, column));
                        }));
    job_.folder().write(
        "labels.npy", npy_file(samples, length, [](int sample, int column) {
          return static_cast<std::int32_t>(column + 1 < length ? ignored_label : token(sample, column) % 3);
        }));
  }
  Words words(const std::string& run) const {
    return named(run) +
           set("data", "{source: tokens, tokens: tokens.npy, labels: labels.npy, epochs: as_needed}") +
           set("task", "{name: classification}") +
           set("model_provider.head", "{kind: classification, num_labels: 3}") +
           set("trainer.schedule.total_steps", "60") + set("optimizer.lr", "0.01");
  }

  TinyJob job_;
};

TEST_F(Classification, LearnsOnTheBodyOfALanguageModelAndIsExported) {
  const Outcome source = job_.run(named("source") + set("export_to", "source"));
  ASSERT_EQ(source.code, 0) << source.err;

  ASSERT_THAT(job_.run(words("classifier") + set("trainer.model_stage_factory.source_checkpoint", "source") +
                       set("export_to", "classifier") + mesh(2, 2)),
              ends_well());
  const std::vector<double> losses = job_.losses("classifier");
  EXPECT_LT(losses.back(), 0.3 * losses.front());
  EXPECT_GT(job_.values("classifier", "metrics/accuracy").back(), 0.9);
  const PosixDisk disk;
  const auto folder = job_.folder() / "classifier";
  EXPECT_THAT(SafetensorsReader(disk, (folder / "model.safetensors").string()).names(),
              testing::Contains("score.weight"));
  const auto config = nlohmann::json::parse(std::ifstream(folder / "config.json"));
  EXPECT_THAT(config["architectures"][0].get<std::string>(), HasSubstr("ForSequenceClassification"));

  const Outcome again =
      job_.run(words("again") + set("trainer.model_stage_factory.source_checkpoint", "classifier"));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_LT(job_.losses("again").front(), 2 * losses.back() + 0.1) << "its head was drawn anew";
}

// MOD-10: the class of the first token is that of the last one, which only a model that looks both ways can know.
TEST_F(Classification, OfTheFirstTokenNeedsAModelWhoseTokensSeeThoseAfterThem) {
  job_.folder().write(
      "labels.npy", npy_file(samples, length, [](int sample, int column) {
        return static_cast<std::int32_t>(column > 0 ? ignored_label : token(sample, length - 1) % 3);
      }));
  const Words both_ways = set("model_provider.model.is_causal", "false");
  const Words longer = set("trainer.schedule.total_steps", "150");

  const Outcome outcome = job_.run(words("both_ways") + longer + both_ways + mesh(2, 2));
  const Outcome causal = job_.run(words("causal") + longer);

  ASSERT_EQ(outcome.code, 0) << outcome.err;
  ASSERT_EQ(causal.code, 0) << causal.err;
  const auto of_last_epoch = [&](const std::string& run) {
    const std::vector<double> all = job_.values(run, "metrics/accuracy");
    return std::accumulate(all.end() - samples / 8, all.end(), 0.0) / (samples / 8);
  };
  EXPECT_GT(of_last_epoch("both_ways"), 0.95);
  EXPECT_LE(of_last_epoch("causal"), 0.75) << "of 64 samples the first token gives 48 away, counted by hand";
  EXPECT_THAT(job_.run(named("next_tokens") + both_ways), is_refused("is_causal is false"));
}

TEST_F(Classification, ANewHeadTrainsBesideAdaptersOnEveryMeshAndTravelsWithThem) {
  ASSERT_EQ(job_.run(named("source") + set("export_to", "source")).code, 0);
  const Words tuned =
      set("model_provider.peft", "{kind: lora, module_name_pattern: \".*_proj\", params: {r: 4, alpha: 8}}") +
      set("trainer.model_stage_factory.source_checkpoint", "source") +
      set("trainer.model_stage_factory.checkpoint_only_trainable_parameters", "true") +
      set("trainer.schedule.total_steps", "20");

  const Outcome outcome = job_.run(words("one") + tuned + mesh(1, 1) + set("export_adapter_to", "adapter") +
                                   set("export_to", "merged"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  ASSERT_EQ(job_.run(words("four") + tuned + mesh(2, 2)).code, 0);

  EXPECT_THAT(outcome.err, HasSubstr("source has no score.weight"));
  const std::vector<double> losses = job_.losses("one"), of_four = job_.losses("four");
  ASSERT_EQ(losses.size(), of_four.size());
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], of_four[i], 1e-4 * losses[i]) << i;
  EXPECT_LT(losses.back(), 0.9 * losses.front());
  const auto first = [&](const std::string& run, const Words& more) {
    EXPECT_THAT(job_.run(words(run) + more), ends_well());
    return job_.losses(run).at(0);
  };
  const double adapted = first("adapted", tuned + set("model_provider.peft.from", "adapter"));
  const double merged = first("merged", set("trainer.model_stage_factory.source_checkpoint", "merged"));
  EXPECT_NEAR(adapted, merged, 1e-5 * merged);
  EXPECT_LT(adapted, 0.9 * losses.front());
}

TEST_F(Classification, LearnsTheSameOnADelayedDevice) {
  const Words few =
      set("trainer.schedule.total_steps", "6") + mesh(2, 1) +
      set("evaluation", "{data: {source: tokens, tokens: tokens.npy, labels: labels.npy}, period_steps: 3}");
  ASSERT_EQ(job_.run(words("cpu") + few).code, 0);

  const Outcome late = job_.run(words("late") + few + set("node.device", "delayed"));

  ASSERT_EQ(late.code, 0) << late.err;
  EXPECT_EQ(job_.exact_curve("late"), job_.exact_curve("cpu"));
  for (const char* key : {"metrics/accuracy", "evaluation/loss", "evaluation/metrics/accuracy"})
    EXPECT_EQ(job_.values("late", key), job_.values("cpu", key)) << key;
}

// The same samples in every step, so what is evaluated after a step is what the next one trains with.
TEST_F(Classification, ItsMetricsAreThoseOfTheEvaluationToo) {
  const Words all = set("trainer.batching.global_batch_size", std::to_string(samples));
  ASSERT_THAT(
      job_.run(words("evaluated") + all + mesh(1, 2) + set("trainer.schedule.total_steps", "12") +
               set("evaluation",
                   "{data: {source: tokens, tokens: tokens.npy, labels: labels.npy}, period_steps: 1}")),
      ends_well());
  const auto trained = job_.values("evaluated", "metrics/accuracy");
  const auto evaluated = job_.values("evaluated", "evaluation/metrics/accuracy");
  ASSERT_EQ(trained.size(), 12U);
  ASSERT_EQ(evaluated.size(), 12U);
  EXPECT_EQ(std::vector(evaluated.begin(), evaluated.end() - 1),
            std::vector(trained.begin() + 1, trained.end()));
  EXPECT_NE(evaluated.front(), evaluated.back());
}

TEST_F(Classification, RefusesATaskThatTheHeadDoesNotServe) {
  const auto refused = [&](const Words& more, const char* text) {
    EXPECT_THAT(job_.run(words("refused") + more), is_refused(text));
  };
  refused(set("task", "{name: causal_lm}"), "task: causal_lm reads the loss of tokens");
  refused(set("model_provider.head", "{kind: embedding}"), "classification, but the model does not classify");
  refused(set("model_provider.head", "{kind: embedding, embedding_dim: 3}") + set("export_to", "x"),
          "export_to: an embedding head with a projection has no form");
}

}  // namespace
}  // namespace d9d::test
