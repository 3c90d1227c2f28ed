#include "runtime/data/source/text_source.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/data/source/text/token_cache.hpp"
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

// The tokenizer has the ids 0 to 782, the last one a token that was added for no text of its own, as
// <image_soft_token> of Gemma 3 was.
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

TEST(TextSource, ReadsTheFirstDocumentsAndTellsTheRowsOfItsSamples) {
  const Folder folder;
  std::string lines;
  for (int i = 0; i < 20'000; ++i)
    lines += "the actor sends message " + std::to_string(i) + "\n" + (i % 2 ? "\n" : "");
  TextDataConfig config = config_of({folder.write("a.txt", lines)});
  config.document = DocumentUnit::line;
  config.samples = SampleUnit::document;
  config.max_samples = 3;
  const TextSource source(config, std::nullopt, SampleForm(), {.with_places = true});

  EXPECT_EQ(source.num_samples(), 3);
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 3; ++i) {
    for (const RowPlace& place : source.places_of(i)) {
      EXPECT_TRUE(place.is_line && place.file == config.files[0]);
      places.push_back(place.number);
    }
  }
  EXPECT_THAT(places, testing::ElementsAre(1, 2, 4));
  // Rows of a stream are made of several documents.
  config.samples = SampleUnit::row;
  config.sequence_length = 11;
  const TextSource rows(config, std::nullopt, SampleForm(), {.with_places = true});
  EXPECT_GT(rows.places_of(0).size(), 1U);
}

TEST(TextSource, IsTokenisedOnceForTrainingAndTheRowsThatItHoldsOut) {
  const Folder folder;
  TextDataConfig config =
      config_of({folder.write("a.txt", "one\ntwo words\nthree more words\nfour\nfive more\n")});
  config.document = DocumentUnit::line;
  config.validation = Validation{};
  config.validation->samples = 2;
  config.sequence_length = 2;
  const Tokenizer tokenizer = Tokenizer::from_file(qwen_tokenizer);
  TextDataConfig other = config;
  other.validation->side = DataSide::validation;
  const CorpusWishes wishes{.share = std::make_shared<SharedCorpora>()};
  int made = 0;
  const auto counted = [&](const TextDataConfig& which) {
    TokenRecipe recipe = text_recipe(which, tokenizer, wishes);
    recipe.make = [&made, make = recipe.make](const UseMadeDocument& use) {
      ++made;
      make(use);
    };
    return corpus_of(recipe);
  };

  const auto training = counted(config);
  const auto validation = counted(other);

  EXPECT_EQ(made, 1);
  EXPECT_EQ(training->num_documents(), 3);
  EXPECT_EQ(validation->num_documents(), 2);
}

}  // namespace
}  // namespace d9d
