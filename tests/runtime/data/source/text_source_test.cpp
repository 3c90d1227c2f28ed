#include "runtime/data/source/text_source.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

const std::string qwen_tokenizer = std::string(D9D_SOURCE_DIR) + "/tests/golden/tokenizer/qwen.json";

TextDataConfig config_of(std::vector<std::string> files) {
  TextDataConfig config;
  config.files = std::move(files);
  config.tokenizer = qwen_tokenizer;
  config.sequence_length = 8;
  return config;
}

std::string error_of(const TextDataConfig& config) {
  return test::error_of([&] { const TextSource source(config); }, ErrorKind::input);
}

TEST(TextSource, PacksDocumentsWithAnEosTokenAfterEach) {
  const Folder folder;
  TextDataConfig config = config_of({folder.write("a.txt", "the actor sends\nthe message\nto the stage\n")});
  config.document = DocumentUnit::line;
  config.eos_token = "<|endoftext|>";
  config.sequence_length = 4;
  const Tokenizer tokenizer = Tokenizer::from_file(qwen_tokenizer);
  std::vector<std::int32_t> row;
  for (const char* line : {"the actor sends", "the message", "to the stage"}) {
    const auto ids = tokenizer.encode(line, false);
    row.insert(row.end(), ids.begin(), ids.end());
    row.push_back(*tokenizer.token_id("<|endoftext|>"));
  }

  const TextSource source(config);

  ASSERT_EQ(source.num_tokens(), row.size());
  ASSERT_EQ(source.num_samples(), (row.size() - 1) / 4);
  for (std::uint64_t i = 0; i < *source.num_samples(); ++i) {
    const Sample sample = source.at(i);
    for (std::size_t t = 0; t < 4; ++t) {
      EXPECT_EQ(sample.input_ids[t], row[i * 4 + t]);
      EXPECT_EQ(sample.labels[t], row[i * 4 + t + 1]);
    }
  }
}

TEST(TextSource, ShufflesSamplesDifferentlyInEveryEpoch) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 400; ++i) text += std::to_string(i * i) + " ";
  TextDataConfig config = config_of({folder.write("a.txt", text)});
  const TextSource ordered(config);
  config.shuffle = true;
  const TextSource shuffled(config);
  const std::uint64_t n = *ordered.num_samples();
  const auto epoch = [&](const TextSource& source, std::uint64_t first) {
    std::vector<std::vector<std::int64_t>> out;
    for (std::uint64_t i = 0; i < n; ++i) out.push_back(source.at(first + i).input_ids);
    return out;
  };

  EXPECT_NE(epoch(shuffled, 0), epoch(ordered, 0));
  EXPECT_NE(epoch(shuffled, 0), epoch(shuffled, n));
  EXPECT_THAT(epoch(shuffled, n), testing::UnorderedElementsAreArray(epoch(ordered, 0)));
}

TEST(TextSource, NamesTheFileThatIsNotUtf8AndTheTokenThatIsMissing) {
  const Folder folder;
  TextDataConfig config = config_of({folder.write("latin.txt", "caf\xE9 au lait, if you please")});

  EXPECT_THAT(error_of(config), HasSubstr("latin.txt: byte 3 of the text (0xE9) is not UTF-8"));
  config.files = {folder.write("short.txt", "a")};
  EXPECT_THAT(error_of(config),
              HasSubstr("the text has 1 token, expected more than data.sequence_length = 8"));
  config.eos_token = "<eos>";
  EXPECT_THAT(error_of(config), HasSubstr("data.eos_token = \"<eos>\" is not a token of"));
}

// The tokenizer has the ids 0 to 782, the last one a token that was added for no text of its own (as Gemma 3's
// <image_soft_token>).
TEST(TextSource, NamesTheTokenThatTheModelDoesNotHaveWhereATextUsesIt) {
  const Folder folder;
  const Tokenizer tokenizer = Tokenizer::from_file(qwen_tokenizer);
  const std::string last = tokenizer.token_text(782).value();
  TextDataConfig config =
      config_of({folder.write("a.txt", "the actor sends the message\nto the stage of the king\n")});
  config.document = DocumentUnit::line;
  config.sequence_length = 2;

  EXPECT_GT(TextSource(config, 782).num_tokens(), 8U) << "no text uses it";
  config.files = {folder.write("b.txt", "the actor sends\nthe " + last + "\n")};
  const auto error = test::error_of([&] { const TextSource source(config, 782); }, ErrorKind::input);
  EXPECT_THAT(error, HasSubstr("b.txt:2: the token \"" + last +
                               "\" has the id 782, but the ids of the model's "
                               "vocabulary are below 782"));
}

TEST(TextSource, PutsABosTokenBeforeEveryDocument) {
  const Folder folder;
  TextDataConfig config = config_of({folder.write("a.txt", "the actor sends\nthe message\n")});
  config.document = DocumentUnit::line;
  config.sequence_length = 2;
  const auto without = TextSource(config).num_tokens();
  config.bos_token = "<|endoftext|>";

  const TextSource source(config);

  EXPECT_EQ(source.num_tokens(), without + 2);
  EXPECT_EQ(source.at(0).input_ids[0], Tokenizer::from_file(qwen_tokenizer).token_id("<|endoftext|>"));
  config.bos_token = "<bos>";
  EXPECT_THAT(error_of(config), HasSubstr("data.bos_token = \"<bos>\" is not a token of"));
}

}  // namespace
}  // namespace d9d
