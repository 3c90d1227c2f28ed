#include "runtime/data/source/text/tokenized_text.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TokenizedText, EndsDocumentsWithTheEosTokenThatIsNamed) {
  const Folder folder;
  const Tokenizer tokenizer = Tokenizer::from_file(D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json");
  TextDataConfig config;
  config.files = {folder.write("a.txt", "one\n\ntwo\n")};
  config.document = DocumentUnit::line;
  const auto documents = [&] {
    std::vector<std::vector<std::int32_t>> all;
    tokenize_documents(config, tokenizer, [&](const TokenizedDocument& document) {
      all.emplace_back(document.ids.begin(), document.ids.end());
    });
    return all;
  };
  auto one = tokenizer.encode("one", false), two = tokenizer.encode("two", false);

  EXPECT_THAT(documents(), ElementsAre(one, two));
  config.eos_token = "<|endoftext|>";
  const auto eos = eos_of(config, tokenizer);
  one.push_back(*eos);
  two.push_back(*eos);
  EXPECT_THAT(documents(), ElementsAre(one, two));
  config.eos_token = "<end>";
  EXPECT_THAT(test::error_of(documents, ErrorKind::input),
              HasSubstr("data.eos_token = \"<end>\" is not a token of"));
}

class ManyDocuments : public testing::Test {
 protected:
  ManyDocuments() {
    std::string lines;
    for (int i = 0; i < 40000; ++i) lines += "the actor sends message " + std::to_string(i) + " to stage\n";
    config_.files = {folder_.write("a.txt", lines), folder_.write("b.txt", "the end\n")};
    config_.document = DocumentUnit::line;
  }

  const Folder folder_;
  const Tokenizer tokenizer_ = Tokenizer::from_file(D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json");
  TextDataConfig config_;
};

TEST_F(ManyDocuments, AreTheSameInOrderWhateverThreadsTokenise) {
  const auto documents = [&](std::int64_t threads) {
    config_.threads = threads;
    std::vector<std::vector<std::int32_t>> all;
    std::uint64_t last = 0;
    tokenize_documents(config_, tokenizer_, [&](const TokenizedDocument& document) {
      EXPECT_GE(document.bytes_read, last);
      last = document.bytes_read;
      all.emplace_back(document.ids.begin(), document.ids.end());
    });
    return all;
  };

  const auto one = documents(1);

  ASSERT_EQ(one.size(), 40001u);
  EXPECT_EQ(one[1234], tokenizer_.encode("the actor sends message 1234 to stage", false));
  EXPECT_EQ(one.back(), tokenizer_.encode("the end", false));
  EXPECT_EQ(documents(3), one);
}

TEST_F(ManyDocuments, AreUsedUpToTheOneThatIsNoText) {
  config_.files.push_back(folder_.write("c.txt",
                                        "fine\nb\xFF"
                                        "d\nfine\n"));
  std::size_t used = 0;

  const std::string error = test::error_of(
      [&] { tokenize_documents(config_, tokenizer_, [&](const TokenizedDocument&) { ++used; }); },
      ErrorKind::input);

  EXPECT_THAT(error, HasSubstr("byte 1 of the text (0xFF) is not UTF-8"));
  EXPECT_THAT(error, HasSubstr("c.txt:2"));
  EXPECT_LE(used, 40002u);
}

}  // namespace
}  // namespace d9d
