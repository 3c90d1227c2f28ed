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

TEST(TextSource, RefusesATokenizerWithMoreIdsThanTheModelBeforeItReadsAnyText) {
  try {
    const TextSource source(config_of({"missing.txt"}), 782);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("go up to 782, but model_provider.model.vocab_size is 782; raise it to at "
                          "least 783"));
  }
}

}  // namespace
}  // namespace d9d
