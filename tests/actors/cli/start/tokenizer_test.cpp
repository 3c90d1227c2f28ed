#include "actors/cli/start/tokenizer.hpp"

#include <gmock/gmock.h>

#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/actors/cli/called.hpp"
#include "tests/support/temporary_folder.hpp"

namespace d9d {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CliTokenizer : public testing::Test {
 protected:
  CliTokenizer() { folder_.write("text.txt", "the word and the word again\nand the end\n"); }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  test::Outcome train(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"train", path("text.txt")};
    words.insert(words.end(), more.begin(), more.end());
    return test::call(tokenizer_command(), words);
  }
  test::TemporaryFolder folder_;
};

TEST_F(CliTokenizer, WritesAFileThatIsReadHereWithTheEndOfTextFirst) {
  ASSERT_THAT(train({"--vocab-size", "262", "--out", path("t.json")}), test::prints("262 tokens"));
  const auto tokenizer = Tokenizer::from_file(path("t.json"));
  EXPECT_EQ(tokenizer.token_id("<|endoftext|>"), 0);
  EXPECT_EQ(tokenizer.vocab_size(), 262);
}

TEST_F(CliTokenizer, TakesSpecialTokensInTheirOrder) {
  ASSERT_EQ(
      train({"--vocab-size", "260", "--out", path("t.json"), "--special", "<s>", "--special", "</s>"}).code,
      0);

  EXPECT_EQ(Tokenizer::from_file(path("t.json")).token_id("</s>"), 1);
}

TEST_F(CliTokenizer, SaysThatTheTextHasNoMore) {
  EXPECT_THAT(train({"--vocab-size", "5000", "--out", path("t.json")}),
              test::says("5000 tokens were asked for; no other pair of tokens occurs 2 times"));
}

TEST_F(CliTokenizer, NeverWritesOverAFile) {
  folder_.write("t.json", "mine");

  EXPECT_THAT(train({"--vocab-size", "262", "--out", path("t.json")}),
              test::is_refused(AllOf(HasSubstr(path("t.json")), HasSubstr("is there already"))));
}

TEST_F(CliTokenizer, NamesWhatIsMissingOrWrong) {
  const auto error = [](const std::vector<std::string>& words) {
    const auto outcome = test::call(tokenizer_command(), words);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    return outcome.err;
  };

  EXPECT_THAT(error({"trian", "x"}), HasSubstr("did you mean \"train\"?"));
  EXPECT_THAT(error({"train"}), HasSubstr("name the files of text"));
  EXPECT_THAT(error({"train", path("text.txt")}), HasSubstr("--out FILE is missing"));
  EXPECT_THAT(error({"train", path("text.txt"), "--out", path("t.json")}), HasSubstr("--vocab-size"));
  EXPECT_THAT(error({"train", path("text.txt"), "--out", path("t.json"), "--vocab-size", "256"}),
              HasSubstr("the 256 bytes and the special tokens need 257"));
}

}  // namespace
}  // namespace d9d
