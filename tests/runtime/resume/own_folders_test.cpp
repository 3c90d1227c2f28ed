#include "runtime/resume/own_folders.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "runtime/base/error.hpp"
#include "tests/runtime/resume/resume_job.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class OwnFolders : public ::testing::Test {
 protected:
  OwnFolders() {
    for (const char* name : {"model", "texts", "plain"}) fs::create_directories(folder_ / name);
    for (const char* file : {"model/model.safetensors", "model/tokenizer.json", "plain/tokenizer.json"})
      folder_.write(file, "{}");
    job_.trainer.model_stage_factory.source_checkpoint = at("model");
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  JobConfig with_tokenizer(const std::string& file) const {
    return testing_job::of_data(4, {"data={source: text, files: [" + at("texts") +
                                        "], tokenizer: " + at(file) + ", sequence_length: 4}",
                                    "output_dir=" + at("out")});
  }
  std::string refusal(const std::string& written) { return refusal(written, job_); }
  static std::string refusal(const std::string& written, const JobConfig& job) {
    return test::error_of([&] { require_own_folder("export_to", written, job); }, ErrorKind::input);
  }

  test::TemporaryFolder folder_;
  JobConfig job_ = with_tokenizer("plain/tokenizer.json");
};

TEST_F(OwnFolders, AreNotTheModelThatIsReadUnderAnyOfItsNames) {
  fs::create_directory_symlink(folder_ / "model", folder_ / "link");

  EXPECT_THAT(refusal(at("model")), AllOf(HasSubstr("export_to " + at("model") + " is " + at("model")),
                                          HasSubstr("trainer.model_stage_factory.source_checkpoint reads"),
                                          HasSubstr("Give another folder")));
  for (const std::string name : {"model/", "texts/../model", "link", "link/.", "./model"})
    EXPECT_THAT(refusal(at(name)), HasSubstr(" is ")) << name;
  EXPECT_THAT(refusal(at("link/new/deep")), HasSubstr("lies inside of"));
  EXPECT_THAT(refusal(at("model/../")), HasSubstr("contains"));
  require_own_folder("export_to", at("model2"), job_);
  require_own_folder("export_to", at("out/model"), job_);
}

TEST_F(OwnFolders, AreNotTheFolderOfATokenizerOrOfData) {
  job_.trainer.model_stage_factory.source_checkpoint.reset();

  EXPECT_THAT(refusal(at("plain")), HasSubstr("would be written over " + at("plain/tokenizer.json")));
  EXPECT_THAT(refusal(at("texts/model")), HasSubstr("lies inside of " + at("texts")));
  EXPECT_THAT(refusal(at("model/new"), with_tokenizer("model/tokenizer.json")), HasSubstr("lies inside of"));
  // A job is often started where its tokenizer lies.
  require_own_folder("export_to", at("plain/exported"), job_);
  folder_.write("plain/corpus.bin", "of Megatron and no model's");
  require_own_folder("export_to", at("plain/exported"), job_);
}

TEST_F(OwnFolders, AreNotAmongTheCheckpoints) {
  EXPECT_THAT(refusal(at("out/checkpoints")), HasSubstr("lies among the job's checkpoints"));
  EXPECT_THAT(refusal(at("out/checkpoints/save-4")), HasSubstr("lies among the job's checkpoints"));
}

TEST_F(OwnFolders, OfResultsHoldNoDataOfTheJob) {
  fs::create_directories(folder_ / "out/results");
  folder_.write("out/results/00000.jsonl", "{}\n");
  JobConfig job = job_;
  job.inference.emplace();
  std::get<TextDataConfig>(job.data).files = {at("out/results/*.jsonl")};

  EXPECT_THAT(test::error_of([&] { require_own_results(job); }, ErrorKind::input),
              AllOf(HasSubstr("00000.jsonl"), HasSubstr("inference.run.name")));
  require_own_results(job_);
}

}  // namespace
}  // namespace d9d
