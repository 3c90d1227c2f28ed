#include "runtime/data/source/text/token_cache.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/error.hpp"
#include "runtime/data/source/text_source.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

class TokenCache : public testing::Test {
 protected:
  TokenCache() {
    config_.files = {folder_.write("a.txt", "the actor sends\nthe message\n"),
                     folder_.write("b.txt", "to the stage\nand to the next one\n")};
    config_.tokenizer = D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json";
    config_.sequence_length = 4;
    config_.document = DocumentUnit::line;
    config_.eos_token = "<|endoftext|>";
    config_.cache = folder_.path("cache");
  }
  PreparedTokens prepare() {
    return prepare_tokens(recipe(), [&](std::uint64_t done, std::uint64_t of) { progress_ = {done, of}; });
  }
  TokenRecipe recipe() const { return text_recipe(config_, tokenizer_); }
  static std::vector<Sample> samples_of(const TextDataConfig& config) {
    const TextSource source(config);
    std::vector<Sample> samples;
    for (std::uint64_t i = 0; i < *source.num_samples(); ++i) samples.push_back(source.at(i));
    return samples;
  }

  const Folder folder_;
  TextDataConfig config_;
  const Tokenizer tokenizer_ =
      Tokenizer::from_file(std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/qwen.json");
  std::pair<std::uint64_t, std::uint64_t> progress_;
};

TEST_F(TokenCache, GivesTheSamplesOfTheTextItself) {
  EXPECT_EQ(find_tokens(recipe()), nullptr);
  const std::vector<Sample> tokenised = samples_of(config_);
  config_.samples = SampleUnit::document;
  const std::vector<Sample> padded = samples_of(config_);

  EXPECT_TRUE(prepare().made);

  ASSERT_NE(find_tokens(recipe()), nullptr);
  EXPECT_EQ(samples_of(config_), padded);
  config_.samples = SampleUnit::row;
  EXPECT_EQ(samples_of(config_), tokenised);
  EXPECT_EQ(progress_.second, 28U + 33U);
  EXPECT_GE(progress_.first, progress_.second - 1) << "but the end of the last line";
}

TEST_F(TokenCache, KnowsTheRowsOfItsDocuments) {
  prepare();
  const auto corpus = find_tokens(recipe());
  ASSERT_EQ(corpus->num_documents(), 4U);
  EXPECT_EQ(text_of(*corpus->place_of(1)), folder_.path("a.txt") + ":2");
  EXPECT_EQ(text_of(*corpus->place_of(2)), folder_.path("b.txt") + ":1");
}

TEST_F(TokenCache, IsMadeOnceForTheSameTextsWhereverTheyLie) {
  const std::string prefix = prepare().prefix;
  EXPECT_FALSE(prepare().made);

  fs::copy(folder_.path("a.txt"), folder_.path("c.txt"));
  config_.files[0] = folder_.path("c.txt");
  config_.shuffle = true;
  config_.sequence_length = 3;

  EXPECT_EQ(prepare().prefix, prefix);
}

TEST_F(TokenCache, IsAnotherOneForAnotherTextOrAnotherKey) {
  prepare();
  config_.document = DocumentUnit::file;
  EXPECT_EQ(find_tokens(recipe()), nullptr);
  config_.document = DocumentUnit::line;
  ASSERT_NE(find_tokens(recipe()), nullptr);
  config_.eos_token.reset();
  EXPECT_EQ(find_tokens(recipe()), nullptr);
  config_.eos_token = "<|endoftext|>";

  folder_.write("a.txt", "the actor sent \nthe message\n\n");
  EXPECT_EQ(find_tokens(recipe()), nullptr);
}

TEST_F(TokenCache, OfAnotherProcessThatWasFasterIsKept) {
  const std::string prefix = prepare().prefix;
  const fs::path folder = fs::path(prefix).parent_path();
  const auto before = fs::last_write_time(prefix + ".bin");

  // As it is for the slower one: the folder appears while it tokenises.
  fs::rename(folder, folder_.path("aside"));
  const auto result = prepare_tokens(recipe(), [&](std::uint64_t, std::uint64_t) {
    if (fs::exists(folder_.path("aside"))) fs::rename(folder_.path("aside"), folder);
  });

  EXPECT_EQ(result.prefix, prefix);
  EXPECT_EQ(fs::last_write_time(prefix + ".bin"), before);
  for (const auto& entry : fs::directory_iterator(*config_.cache)) {
    EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

TEST_F(TokenCache, LeavesNothingOfATextThatCannotBeTokenised) {
  folder_.write("b.txt", "caf\xE9\n");

  EXPECT_THAT(test::error_of([&] { prepare(); }, ErrorKind::input), testing::HasSubstr("b.txt:1"));
  for (const auto& entry : fs::directory_iterator(*config_.cache)) {
    EXPECT_EQ(entry.path().filename(), "known") << entry.path();
  }
}

}  // namespace
}  // namespace d9d
