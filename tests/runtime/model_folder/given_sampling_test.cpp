#include "runtime/model_folder/given_sampling.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GivenSamplingIn : public testing::Test {
 protected:
  GivenSampling sampling(const char* text) const {
    folder_.write("generation_config.json", text);
    return sampling_in(disk_, folder_.path().string());
  }

  PosixDisk disk_;
  const test::TemporaryFolder folder_;
};

// As GenerationConfig of transformers 5: temperature 1, top_k 50, top_p 1 where it samples.
TEST_F(GivenSamplingIn, AFolderIsThatOfTransformers) {
  const GivenSampling all =
      sampling(R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95})");
  const GivenSampling some = sampling(R"({"do_sample": true, "temperature": 0.7})");

  EXPECT_EQ(all.temperature, 0.6);
  EXPECT_EQ(all.top_k, 20);
  EXPECT_EQ(all.top_p, 0.95);
  EXPECT_EQ(some.top_k, 50);
  EXPECT_EQ(some.top_p, 1.0);
  EXPECT_EQ(sampling(R"({"do_sample": false})").temperature, 0.0);
}

TEST_F(GivenSamplingIn, AFolderPenalisesRepetitionsWhetherItSamplesOrNot) {
  for (const char* samples : {"", R"("do_sample": false, )", R"("do_sample": true, )"}) {
    const GivenSampling given =
        sampling((std::string("{") + samples + R"("repetition_penalty": 1.05})").c_str());
    EXPECT_EQ(given.repetition_penalty, 1.05) << samples;
    EXPECT_THAT(given.words, IsEmpty());
  }
  EXPECT_THAT(test::error_of([&] { sampling(R"({"repetition_penalty": 0})"); }, ErrorKind::input),
              HasSubstr("repetition_penalty is 0, expected a number above 0"));
}

TEST_F(GivenSamplingIn, AFolderThatNamesItsEndsAloneIsNone) {
  const GivenSampling given = sampling(R"({"eos_token_id": 2, "top_p": 0.9})");

  EXPECT_EQ(given.temperature, std::nullopt);
  EXPECT_EQ(given.top_p, std::nullopt);
  EXPECT_THAT(given.words, IsEmpty());
}

TEST_F(GivenSamplingIn, AFolderSaysWhatIsNotDone) {
  const GivenSampling given =
      sampling(R"({"do_sample": true, "no_repeat_ngram_size": 3, "num_beams": 1, "stop_strings": ["a"]})");

  EXPECT_THAT(given.words, ElementsAre(HasSubstr(
                               "asks for no_repeat_ngram_size = 3, stop_strings = [\"a\"], which is not done "
                               "here")));
  EXPECT_THAT(test::error_of([&] { sampling(R"({"do_sample": true, "top_k": "many"})"); }, ErrorKind::input),
              HasSubstr("top_k is \"many\", expected a number"));
}

// Each changes the ids in transformers 5.23: its logits processors, stopping criteria and kinds of search.
TEST_F(GivenSamplingIn, AFolderNamesEveryKeyThatChangesIds) {
  for (const char* key :
       {R"("min_new_tokens": 3)", R"("min_length": 5)", R"("forced_bos_token_id": 1)", R"("top_h": 0.5)",
        R"("forced_eos_token_id": [2])", R"("sequence_bias": [[[1], 2.0]])", R"("min_p": 0.1)",
        R"("exponential_decay_length_penalty": [5, 1.1])", R"("begin_suppress_tokens": [1])",
        R"("guidance_scale": 2.0)", R"("token_healing": true)", R"("watermarking_config": {"bias": 2.0})",
        R"("encoder_no_repeat_ngram_size": 2)", R"("remove_invalid_values": true)", R"("max_time": 1.5)",
        R"("dola_layers": "low")", R"("cache_implementation": "quantized")"}) {
    const std::string name = std::string(key).substr(1, std::string(key).find('"', 1) - 1);
    EXPECT_THAT(sampling((std::string("{") + key + "}").c_str()).words,
                ElementsAre(HasSubstr("asks for " + name + " = ")))
        << key;
  }
  EXPECT_THAT(sampling(R"({"min_length": 0, "sequence_bias": null, "suppress_tokens": [], "guidance_scale": 1,
                           "bad_words_ids": [], "token_healing": false, "cache_implementation": "static"})")
                  .words,
              IsEmpty());
}

}  // namespace
}  // namespace d9d
