#include "runtime/data/source/tokens_source.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <set>
#include <string_view>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/npy_file.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using Tokens = std::vector<std::int64_t>;

std::string array(const Folder& folder, const std::string& name, const std::vector<std::int64_t>& shape,
                  const std::vector<std::int32_t>& values) {
  return folder.write(name, test::npy_of(shape, values));
}

std::string tokens_error(const TokensDataConfig& config) {
  return test::error_of([&] { TokensSource(config).at(0); });
}

TEST(TokensSource, MakesLabelsFromTheNextTokenAndKeepsTheLength) {
  const Folder folder;

  const TokensSource source({array(folder, "t.npy", {2, 3}, {1, 2, 3, 4, 5, 6})});

  EXPECT_EQ(source.num_samples(), 2u);
  EXPECT_EQ(source.sequence_length(), 3);
  EXPECT_EQ(source.at(1), (Sample{{4, 5, 6}, {5, 6, ignored_label}}));
  EXPECT_EQ(source.at(2), source.at(0));
}

TEST(TokensSource, TakesLabelsAsTheyAreWhenGiven) {
  const Folder folder;
  const std::string labels = array(folder, "l.npy", {1, 3}, {-100, 9, 0});

  const TokensSource source({array(folder, "t.npy", {1, 3}, {1, 2, 3}), labels});

  EXPECT_EQ(source.at(0), (Sample{{1, 2, 3}, {-100, 9, 0}}));
}

TEST(TokensSource, HandsOnTargetsAsNumbersWithALabelWhereThereIsOne) {
  const Folder folder;
  const std::string tokens = array(folder, "t.npy", {1, 3}, {1, 2, 3});
  const auto floats = [&](const std::string& name, const std::vector<float>& values) {
    const std::string_view bytes{reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
    return folder.write(name, test::npy_bytes("<f4", {1, 3}, bytes));
  };
  const float none = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  const std::string labels = array(folder, "l.npy", {1, 3}, {-100, 9, 0});

  const Sample sample =
      TokensSource({.tokens = tokens, .targets = floats("n.npy", {none, none, -0.5F})}).at(0);

  EXPECT_EQ(sample.labels, (Tokens{ignored_label, ignored_label, 0}));
  EXPECT_EQ(sample.numbers.at("targets")[2], -0.5F);
  EXPECT_THAT(tokens_error({.tokens = tokens, .targets = floats("i.npy", {none, none, infinite})}),
              HasSubstr("row 0 holds inf at position 2, expected a number, or NaN for none"));
  EXPECT_THAT(tokens_error({.tokens = tokens, .targets = labels}), HasSubstr("holds int32, expected floats"));
  EXPECT_THAT(tokens_error({.tokens = tokens, .labels = labels, .targets = floats("n.npy", {1, 2, 3})}),
              HasSubstr("data.targets: given beside data.labels"));
}

TEST(TokensSource, KnowsTheDocumentsOfARowByTheirPositions) {
  const Folder folder;
  const std::string tokens = array(folder, "t.npy", {1, 5}, {1, 2, 3, 4, 5});
  const std::string positions = array(folder, "p.npy", {1, 5}, {0, 1, 0, 1, 2});

  const Sample sample = TokensSource({.tokens = tokens, .position_ids = positions}).at(0);

  EXPECT_EQ(sample, (Sample{{1, 2, 3, 4, 5}, {2, ignored_label, 4, 5, ignored_label}, {0, 0, 2, 2, 2}}));
  EXPECT_THAT(
      tokens_error({.tokens = tokens, .position_ids = array(folder, "q.npy", {1, 5}, {0, 1, 3, 4, 5})}),
      HasSubstr("row 0 holds the position 3 at 2, expected 2, or 0 where a document begins"));
}

// Of transformers' collators: the tokenizer's mask, padding on the right, on the left, none, and nothing else.
TEST(TokensSource, TakesPaddingForNoTokens) {
  const Folder folder;
  const TokensSource source(
      {.tokens = array(folder, "t.npy", {4, 4}, {1, 2, 0, 0, 0, 0, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0}),
       .attention_mask = array(folder, "m.npy", {4, 4}, {1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0})});

  EXPECT_EQ(source.at(0), (Sample{{1, 2, 0, 0}, {2, -100, -100, -100}, {}, {}, {true, true, false, false}}));
  EXPECT_EQ(source.at(1),
            (Sample{{0, 0, 3, 4}, {-100, -100, 4, -100}, {0, 0, 2, 2}, {}, {false, false, true, true}}))
      << "tokens do not see the padding before them";
  EXPECT_EQ(source.at(2), (Sample{{5, 6, 7, 8}, {6, 7, 8, -100}}));
  EXPECT_EQ(source.at(3),
            (Sample{{0, 0, 0, 0}, {-100, -100, -100, -100}, {0, 0, 0, 0}, {}, {false, false, false, false}}));
}

TEST(TokensSource, TakesMasksOfBooleansAndOfBytes) {
  const Folder folder;
  const std::string tokens = array(folder, "t.npy", {1, 4}, {0, 2, 3, 0});
  const std::string_view flags("\0\1\1\0", 4);
  for (const char* dtype : {"|b1", "|u1"}) {
    const std::string mask = folder.write("m.npy", test::npy_bytes(dtype, {1, 4}, flags));
    const Sample sample = TokensSource({.tokens = tokens, .attention_mask = mask}).at(0);
    EXPECT_EQ(sample.token_mask, (std::vector<bool>{false, true, true, false})) << dtype;
    EXPECT_THAT(sample.labels, testing::ElementsAre(-100, 3, -100, -100)) << dtype;
  }
  const std::string mask = folder.write("m.npy", test::npy_bytes("|b1", {1, 4}, flags));
  EXPECT_THAT(tokens_error({.tokens = mask}), HasSubstr("holds bool, expected integers"));
  EXPECT_THAT(tokens_error({.tokens = tokens, .targets = mask}), HasSubstr("holds bool, expected floats"));
}

TEST(TokensSource, TakesLabelsOfPaddingAway) {
  const Folder folder;
  const std::string tokens = array(folder, "t.npy", {1, 4}, {0, 2, 3, 0});
  const TokensSource source({.tokens = tokens,
                             .labels = array(folder, "l.npy", {1, 4}, {2, 3, 9, 0}),
                             .attention_mask = array(folder, "m.npy", {1, 4}, {0, 1, 1, 0})});

  EXPECT_THAT(source.at(0).labels, testing::ElementsAre(-100, 3, 9, -100));
  EXPECT_THAT(
      tokens_error({.tokens = tokens, .attention_mask = array(folder, "n.npy", {1, 4}, {1, 0, 1, 0})}),
      HasSubstr("row 0 holds a 1 at position 2, expected 1 for tokens, and 0 for padding before and after"));
}

// Two documents in the first row, the second is filled up on both sides.
TEST(TokensSource, LabelsEachTokenWithItselfWhereTheTaskLearnsNoNextOne) {
  const Folder folder;
  TokensDataConfig config{.tokens = array(folder, "t.npy", {2, 4}, {5, 6, 7, 8, 0, 2, 3, 0}),
                          .position_ids = array(folder, "p.npy", {2, 4}, {0, 1, 2, 0, 0, 0, 1, 2}),
                          .attention_mask = array(folder, "m.npy", {2, 4}, {1, 1, 1, 1, 0, 1, 1, 0})};
  const auto labels_of = [&](std::uint64_t row) {
    return TokensSource(config, {}, TokenLabels::own).at(row).labels;
  };

  EXPECT_THAT(labels_of(0), testing::ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(labels_of(1), testing::ElementsAre(-100, 2, 3, -100));
  config.labels = array(folder, "l.npy", {2, 4}, {-100, -100, 1, 0, 1, -100, 1, 1});
  EXPECT_THAT(labels_of(0), testing::ElementsAre(-100, -100, 1, 0)) << "a file's stay";
  EXPECT_THAT(labels_of(1), testing::ElementsAre(-100, -100, 1, -100));
}

TEST(TokensSource, VisitsEveryRowOncePerEpochWhenShuffled) {
  const Folder folder;
  std::vector<std::int32_t> values(64);
  for (int i = 0; i < 64; ++i) values[static_cast<std::size_t>(i)] = i;
  const TokensSource source({.tokens = array(folder, "t.npy", {64, 1}, values), .shuffle = true, .seed = 3});
  Tokens epochs[2];

  for (std::uint64_t i = 0; i < 128; ++i) epochs[i / 64].push_back(source.at(i).input_ids[0]);

  EXPECT_EQ(std::set(epochs[0].begin(), epochs[0].end()).size(), 64u);
  EXPECT_EQ(std::set(epochs[1].begin(), epochs[1].end()).size(), 64u);
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(TokensSource, RefusesWrongShapesAndImpossibleIds) {
  const Folder folder;
  const std::string good = array(folder, "t.npy", {1, 2}, {1, 2});

  EXPECT_THAT(tokens_error({array(folder, "flat.npy", {4}, {1, 2, 3, 4})}),
              HasSubstr("shape [4], expected [samples, length]"));
  EXPECT_THAT(tokens_error({array(folder, "none.npy", {0, 4}, {})}), HasSubstr("at least one of each"));
  EXPECT_THAT(tokens_error({good, array(folder, "l.npy", {2, 1}, {1, 2})}),
              HasSubstr("shape [2, 1], expected that of"));
  EXPECT_THAT(tokens_error({array(folder, "bad.npy", {1, 2}, {1, -2})}),
              HasSubstr("row 0 holds the token -2"));
  EXPECT_THAT(tokens_error({good, array(folder, "m.npy", {1, 2}, {1, -1})}),
              HasSubstr("row 0 holds the label -1"));
}

TEST(TokensSource, NamesFileRowAndPositionOfAnIdBeyondTheVocabulary) {
  const Folder folder;
  const std::string tokens = array(folder, "t.npy", {2, 2}, {1, 2, 3, 600});
  const std::string good = array(folder, "good.npy", {2, 2}, {1, 2, 3, 4});
  const std::string labels = array(folder, "l.npy", {2, 2}, {-100, 2, 512, 4});
  const auto error_at = [](const TokensDataConfig& config, std::uint64_t sample) -> std::string {
    return test::error_of([&] { TokensSource(config, {512}).at(sample); });
  };

  EXPECT_EQ(error_at({tokens}, 0), "no error");
  EXPECT_EQ(error_at({tokens}, 1),
            tokens +
                ": row 1 holds the token 600 at position 1, but model_provider.model.vocab_size is 512; "
                "raise it, or mend the file");
  EXPECT_THAT(error_at({good, labels}, 1), HasSubstr("l.npy: row 1 holds the label 512 at position 0"));
}

TEST(TokensSource, LooksThroughItsRowsAheadAndStopsAtTheLimit) {
  const Folder folder;
  const TokensDataConfig config{array(folder, "t.npy", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 600})};
  const TokensSource source(config, {512});
  const auto scanned = [&](std::uint64_t bytes_max) {
    return source.scan_ids({.bytes_max = bytes_max})->samples;
  };

  EXPECT_EQ(scanned(1), 1u);
  EXPECT_EQ(scanned(3 * 2 * 4), 3u);
  EXPECT_THROW(scanned(1 << 20), Error);
  EXPECT_EQ(TokensSource(config, {601}).scan_ids({})->samples, 4u);
  EXPECT_EQ(source.scan_ids({.time_max = std::chrono::milliseconds(0)})->samples, 1u);
}

// Each odd value is in the last row, which a job reads late.
TEST(TokensSource, LooksThroughAllItsFilesAhead) {
  const Folder folder;
  const std::string tokens = array(folder, "t.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto error = [](const TokensDataConfig& config, TokensLimits limits = {512}) {
    return test::error_of([&] { TokensSource(config, limits).scan_ids({}); });
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers{1, 2, 3, 4, 5, infinity};
  const std::string targets = folder.write(
      "n.npy",
      test::npy_bytes("<f4", {2, 3}, {reinterpret_cast<const char*>(numbers.data()), 6 * sizeof(float)}));

  EXPECT_THAT(error({.tokens = tokens, .attention_mask = array(folder, "m.npy", {2, 3}, {1, 1, 1, 1, 0, 1})}),
              HasSubstr("m.npy: row 1 holds a 1 at position 2, expected 1 for tokens"));
  EXPECT_THAT(
      error({.tokens = tokens, .position_ids = array(folder, "p.npy", {2, 3}, {0, 1, 2, 2, 3, 4})}),
      HasSubstr("p.npy: row 1 holds the position 2 at 0, expected 0, or 0 where a document begins; mend"));
  EXPECT_THAT(error({.tokens = tokens, .targets = targets}),
              HasSubstr("n.npy: row 1 holds inf at position 2"));
  const std::string classes = array(folder, "c.npy", {2, 3}, {-100, -100, 1, -100, -100, 3});
  EXPECT_THAT(
      error({.tokens = tokens, .labels = classes}, {512, 2}),
      HasSubstr("c.npy: row 1 holds the label 3 at position 2, but model_provider.head.num_labels is 2"));
  EXPECT_EQ(error({.tokens = tokens, .labels = classes}, {512, 4}), "no error");
}

TEST(TokensSource, RefusesRealNumbersWhenItIsOpened) {
  const Folder folder;
  const std::string real = folder.write("real.npy", test::npy_bytes("<f4", {1, 2}, std::string(8, '\0')));

  EXPECT_THROW(TokensSource({real}), Error);
}

}  // namespace
}  // namespace d9d
