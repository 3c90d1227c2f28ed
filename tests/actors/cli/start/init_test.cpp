#include "actors/cli/start/init.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/actors/cli/called.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr HostRoom small_host{2, 8ULL << 30};

class CliInit : public testing::Test {
 protected:
  CliInit() {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "the " + std::to_string(i) + "th paragraph\nhas two lines\n\n";
    folder_.write("text.txt", text);
  }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  test::Outcome init(const std::vector<std::string>& words) const {
    return test::call(init_command(small_host), words);
  }
  bool exists(const char* name) const { return std::filesystem::exists(folder_.path() / name); }
  test::TemporaryFolder folder_;
};

TEST_F(CliInit, WritesAJobAndItsTokenizer) {
  ASSERT_THAT(init({path("mine"), "--text", path("text.txt")}),
              test::prints(AllOf(HasSubstr("document: paragraph"), HasSubstr("data_parallel_replicate: 2"),
                                 HasSubstr("train:   d9d-node " + path("mine/job.yaml")))));
  EXPECT_TRUE(exists("mine/job.yaml"));
  EXPECT_TRUE(exists("mine/tokenizer.json"));
}

TEST_F(CliInit, TakesAFoldersNameWithASlash) {
  EXPECT_THAT(init({path("mine") + "/", "--text", path("text.txt")}), test::prints("run: {name: \"mine\"}"));
}

// What is printed can be copied into a shell; that a shell reads it is shell_word's test.
TEST_F(CliInit, PrintsCommandsThatAShellTakes) {
  std::filesystem::rename(path("text.txt"), path("my $text.txt"));

  ASSERT_THAT(init({path("my job"), "--text", path("my $text.txt")}),
              test::prints(AllOf(
                  HasSubstr("d9d-node init '" + path("my job") + "' --text '" + path("my $text.txt") + "'"),
                  HasSubstr("train:   d9d-node '" + path("my job/job.yaml") + "'"),
                  HasSubstr("generate 'runs/my job/export' --prompt"))));
}

TEST_F(CliInit, NeverWritesOverWhatIsThere) {
  ASSERT_EQ(init({path("mine"), "--text", path("text.txt")}).code, 0);

  EXPECT_THAT(
      init({path("mine"), "--text", path("text.txt")}),
      test::is_refused(AllOf(HasSubstr(path("mine/job.yaml")), HasSubstr("nothing is written over it"))));
}

// Nothing is half-written.
TEST_F(CliInit, NamesWhatIsMissingAndLeavesNothing) {
  std::filesystem::create_directories(folder_.path() / "model");
  const auto error = [&](const std::vector<std::string>& words) {
    const auto outcome = init(words);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    return outcome.err;
  };

  EXPECT_THAT(error({path("mine")}), HasSubstr("Give --text FILE"));
  EXPECT_THAT(error({path("mine"), "--text", path("none.txt")}), HasSubstr("none.txt"));
  EXPECT_THAT(error({path("mine"), "--data", path("text.txt")}), HasSubstr("--data needs --model FOLDER"));
  EXPECT_THAT(error({path("mine"), "--data", "a", "--text", "b"}), HasSubstr("--text or --data, not both"));
  EXPECT_THAT(error({path("mine"), "--model", path("model"), "--text", path("text.txt")}),
              HasSubstr(path("model") + " has no config.json; give the folder of a Hugging Face model"));
  EXPECT_THAT(error({path("mine"), "--text", path("text.txt"), "--minutes", "0"}),
              HasSubstr("give more than 0"));
  EXPECT_THAT(error({path("text.txt"), "--text", path("text.txt")}),
              HasSubstr("is a file, and the job gets a folder"));
  EXPECT_THAT(error({"/", "--text", path("text.txt")}), HasSubstr("is no name"));
  EXPECT_FALSE(exists("mine"));
}

TEST_F(CliInit, NamesTheFamiliesWhereAModelIsOfNone) {
  std::filesystem::create_directories(folder_.path() / "model");
  folder_.write("model/config.json", R"({"model_type": "gpt2"})");
  folder_.write("model/tokenizer.json", "{}");
  folder_.write("model/model.safetensors", "weights");

  EXPECT_THAT(init({path("mine"), "--model", path("model"), "--text", path("text.txt")}),
              test::is_refused(AllOf(HasSubstr("gpt2"), HasSubstr("qwen3"), HasSubstr("config.json"))));
  EXPECT_FALSE(exists("mine"));
}

}  // namespace
}  // namespace d9d
