#include "actors/cli/start/starter_job.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/base/config/parse.hpp"
#include "runtime/job/job_load.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t room = 16ULL << 30;

StarterJob bible() {
  StarterJob job{.name = "bible", .command = "d9d-node init bible --text kjv.txt", .files = {"kjv.txt"}};
  job.plan = plan_model({1'200'000, 4096}, {4, room}, 4);
  job.minutes = 4;
  job.family = "qwen3";
  job.tokenizer = "bible/tokenizer.json";
  job.eos_token = "<|endoftext|>";
  job.document = DocumentUnit::paragraph;
  return job;
}

std::ptrdiff_t lines_of(const std::string& text) {
  return std::ranges::count(text, '\n');
}

TEST(StarterJob, IsAJobOfFewLinesThatNothingIsSaidOf) {
  const std::string yaml = yaml_of(bible());

  const LoadedJob loaded = load_job(config::parse(yaml, "job.yaml"), {});

  EXPECT_LE(lines_of(yaml), 25) << yaml;
  EXPECT_THAT(loaded.warnings, testing::IsEmpty());
  EXPECT_EQ(loaded.job.export_to, "runs/bible/export");
  EXPECT_TRUE(loaded.job.evaluation);
}

TEST(StarterJob, QuotesWhatYamlWouldReadOtherwise) {
  StarterJob job = bible();
  job.name = "no: #1";
  job.files = {"it's \"mine\".txt", "*.md", "- x"};

  const LoadedJob loaded = load_job(config::parse(yaml_of(job), "job.yaml"), {});

  EXPECT_EQ(loaded.job.trainer.run.name, "no: #1");
  EXPECT_EQ(std::get<TextDataConfig>(loaded.job.data).files, job.files);
}

TEST(StarterJob, HasNoEvaluationWhereNothingIsHeldOut) {
  StarterJob job = bible();
  job.plan.validation = 0;

  const std::string yaml = yaml_of(job);

  EXPECT_THAT(yaml, Not(HasSubstr("evaluation:")));
  EXPECT_THAT(yaml, Not(HasSubstr("export: best")));
  EXPECT_NO_THROW(load_job(config::parse(yaml, "job.yaml"), {}));
}

TEST(StarterJob, WritesConversationsWithMarkersWhereThereIsNoTemplate) {
  StarterJob job = bible();
  job.model = StarterModel{"model", 600'000'000};
  job.is_chat = true;
  job.tokenizer.clear();
  job.document.reset();

  EXPECT_THAT(yaml_of(job), Not(HasSubstr("roles:")));
  job.has_template = false;
  EXPECT_THAT(yaml_of(job), HasSubstr("user: {prefix: \"User: \""));
  EXPECT_LE(lines_of(yaml_of(job)), 25);
}

TEST(StarterJob, BeginsTextsAsThePromptsThatTheModelIsAsked) {
  StarterJob job = bible();
  job.bos_token = "<s>";
  EXPECT_THAT(yaml_of(job), HasSubstr("bos_token: \"<s>\", eos_token:"));
  job.model = StarterModel{"model", 600'000'000};
  job.is_chat = true;
  EXPECT_THAT(yaml_of(job), HasSubstr("begin: \"<s>\", eos_token:"));
}

TEST(StarterJob, TrainsWhatAModelCanTrain) {
  StarterJob job = bible();
  job.plan = plan_tuning(4096, 1'000'000, 512, true, {4, room}, 4);
  job.plugins = {"libmine.so"};
  job.model = StarterModel{.folder = "mine", .parameters = 1'000'000};

  EXPECT_THAT(yaml_of(job), testing::AllOf(HasSubstr("kind: lora"), HasSubstr("export_adapter_to"),
                                           HasSubstr("plugins: [\"libmine.so\"]")));
  job.model->trains = StarterModel::Trains::adapters;
  EXPECT_THAT(yaml_of(job), testing::AllOf(HasSubstr("kind: lora"), Not(HasSubstr("export_adapter_to: "))));
  job.model->trains = StarterModel::Trains::all;
  job.model->mask_token_id = 4;
  EXPECT_THAT(yaml_of(job),
              testing::AllOf(HasSubstr("all weights train"), HasSubstr("lr: 2e-05"),
                             HasSubstr("task: {name: masked_lm, mask_token_id: 4}"), Not(HasSubstr("peft")),
                             Not(HasSubstr("checkpoint_only_trainable"))));
}

}  // namespace
}  // namespace d9d
