#include "runtime/job/model_tokenizer.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/job/job_text.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

class ModelTokenizer : public testing::Test {
 protected:
  static LoadedJob job(const std::string& data, const std::vector<std::string>& more = {}) {
    std::vector<std::string> overrides{"data={" + data + "}"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return testing_job::load(overrides);
  }
  std::string weights() const {
    return "trainer.model_stage_factory.source_checkpoint=" + folder_.path().string();
  }
  std::string in_folder(const char* name) const { return (folder_ / name).string(); }

  const std::string text_ = "source: text, files: [a], sequence_length: 8";
  const test::TemporaryFolder folder_;
};

TEST_F(ModelTokenizer, IsThatOfTheFolderWhereATextNamesNone) {
  folder_.write("tokenizer.model", "");
  EXPECT_EQ(std::get<TextDataConfig>(job(text_, {weights()}).job.data).tokenizer,
            in_folder("tokenizer.model"));

  folder_.write("tokenizer.json", "");
  EXPECT_EQ(std::get<TextDataConfig>(job(text_, {weights()}).job.data).tokenizer,
            in_folder("tokenizer.json"));
  EXPECT_EQ(std::get<TextDataConfig>(job(text_ + ", tokenizer: own.json", {weights()}).job.data).tokenizer,
            "own.json");
}

TEST_F(ModelTokenizer, IsThatOfTheFolderForAllPartsAndTheEvaluation) {
  folder_.write("tokenizer.json", "");

  const JobConfig filled =
      job("source: mixture, parts: [{weight: 1, " + text_ + "}, {weight: 1, " + text_ + "}]",
          {weights(), "evaluation={period_steps: 1, data: {" + text_ + "}}"})
          .job;

  for (const MixturePart& part : std::get<MixtureDataConfig>(filled.data).parts) {
    EXPECT_EQ(std::get<TextDataConfig>(part.source).tokenizer, in_folder("tokenizer.json"));
  }
  EXPECT_EQ(std::get<TextDataConfig>(filled.evaluation->data).tokenizer, in_folder("tokenizer.json"));
}

TEST_F(ModelTokenizer, IsMissedWithThePlaceWhereItWasLookedFor) {
  const auto error = [&](const std::string& data, const std::vector<std::string>& more) {
    return test::error_of([&] { job(data, more); }, ErrorKind::input);
  };

  EXPECT_THAT(error(text_, {}), HasSubstr("data.tokenizer: missing, and the job names no model's folder"));
  EXPECT_THAT(error(text_, {weights()}),
              HasSubstr(folder_.path().string() + " has no tokenizer.json and no tokenizer.model"));
  EXPECT_THAT(error("source: mixture, parts: [{weight: 1, " + text_ + "}]", {}),
              HasSubstr("data.parts.0.tokenizer: missing"));
}

}  // namespace
}  // namespace d9d
