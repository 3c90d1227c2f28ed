#include "runtime/job/reading/other_words.hpp"

#include <gmock/gmock.h>

#include <set>

#include "tests/runtime/job/job_text.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// All paths of the reference, those of sections among them.
std::set<std::string> keys_of_a_job() {
  std::set<std::string> keys;
  const std::string reference = job_reference();
  for (std::size_t at = reference.find("\n| `"); at != std::string::npos;
       at = reference.find("\n| `", at + 1)) {
    const std::size_t begin = at + 4;
    keys.insert(reference.substr(begin, reference.find('`', begin) - begin));
  }
  return keys;
}

TEST(OtherWords, NameKeysThatAreThere) {
  const std::set<std::string> keys = keys_of_a_job();
  ASSERT_GT(keys.size(), 300U);
  for (const config::OtherWords& row : other_words()) {
    for (const std::string_view key : config::parted(row.ours)) {
      EXPECT_TRUE(keys.contains(std::string(key))) << row.words << " -> " << key;
    }
    EXPECT_FALSE(row.ours.empty() && row.note.empty()) << row.words;
  }
}

TEST(OtherWords, StandInTheTableOnce) {
  std::set<std::string_view> seen;
  for (const config::OtherWords& row : other_words())
    for (const std::string_view word : config::parted(row.words))
      EXPECT_TRUE(seen.insert(word).second) << word;
  for (const char* word : {"gradient_accumulation_steps",
                           "learning_rate",
                           "num_train_epochs",
                           "epochs",
                           "max_steps",
                           "seed",
                           "packing",
                           "chat_template",
                           "bf16",
                           "fp16",
                           "target_modules",
                           "lora_r",
                           "lora_alpha",
                           "report_to",
                           "per_device_train_batch_size",
                           "micro_batch_size",
                           "global_batch_size",
                           "warmup_steps",
                           "warmup_ratio",
                           "weight_decay",
                           "max_grad_norm",
                           "logging_steps",
                           "save_steps",
                           "save_total_limit",
                           "eval_steps",
                           "output_dir",
                           "resume_from_checkpoint",
                           "gradient_checkpointing",
                           "deepspeed",
                           "fsdp",
                           "tensor_model_parallel_size",
                           "pipeline_model_parallel_size",
                           "seq_length",
                           "block_size",
                           "model_name_or_path",
                           "dataset",
                           "val_set_size",
                           "neftune_noise_alpha",
                           "load_in_4bit"})
    EXPECT_TRUE(seen.contains(word)) << word;
}

TEST(OtherWords, AreAnsweredWhereTheyStand) {
  EXPECT_THAT(testing_job::error_of({"trainer.max_steps=100"}),
              HasSubstr("trainer.max_steps: unknown key; here: trainer.schedule.total_steps"));
  EXPECT_THAT(
      testing_job::error_of({"trainer.gradient_accumulation_steps=4"}),
      AllOf(HasSubstr("here: trainer.batching.global_batch_size and trainer.batching.microbatch_size"),
            HasSubstr("a step accumulates")));
  EXPECT_THAT(testing_job::error_of({"optimizer.learning_rate=1"}), HasSubstr("here: optimizer.lr"));
  EXPECT_THAT(testing_job::error_of({"resume_from_checkpoint=true"}),
              HasSubstr("goes on from its last checkpoint by itself"));
}

// A word that is a key where it stands is that key.
TEST(OtherWords, SayNothingWhereTheKeyIsOne) {
  EXPECT_EQ(testing_job::error_of({"optimizer.weight_decay=0.2", "optimizer.lr=1", "output_dir=elsewhere"}),
            "no error");
  EXPECT_THAT(testing_job::error_of({"optimizer.weight_decay=-1"}), Not(HasSubstr("here:")));
  EXPECT_THAT(testing_job::error_of({"trainer.output_dir=x"}),
              HasSubstr("here: output_dir (at the top level)"));
  EXPECT_THAT(testing_job::error_of({"trainer.run.nam=x"}), HasSubstr("did you mean \"name\"?"));
}

}  // namespace
}  // namespace d9d
