#include "runtime/data/corpus/row_choice.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/chosen_documents.hpp"
#include "runtime/data/corpus/counted_corpus.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RowChoiceConfig holding_out(std::optional<double> fraction, std::optional<std::int64_t> samples,
                            DataSide side, std::uint64_t seed = 1) {
  RowChoiceConfig config{.validation = Validation{}, .seed = seed};
  config.validation->fraction = fraction;
  config.validation->samples = samples;
  config.validation->side = side;
  return config;
}

std::vector<std::uint64_t> rows_of(const RowChoice& choice) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 0; i < choice.count(); ++i) rows.push_back(choice.row_at(i));
  return rows;
}

TEST(RowChoice, PartsTheRowsInTwoInTheirOrder) {
  for (const std::uint64_t count : {2u, 7u, 100u, 1001u}) {
    const auto rows = rows_of({count, holding_out(0.25, {}, DataSide::training)});
    const auto held_out = rows_of({count, holding_out(0.25, {}, DataSide::validation)});
    EXPECT_EQ(held_out.size(), static_cast<std::size_t>(std::llround(0.25 * static_cast<double>(count))));
    EXPECT_TRUE(std::ranges::is_sorted(rows) && std::ranges::is_sorted(held_out));
    std::set<std::uint64_t> all(rows.begin(), rows.end());
    all.insert(held_out.begin(), held_out.end());
    EXPECT_EQ(all.size(), count);
    EXPECT_EQ(rows.size() + held_out.size(), count);
  }
}

TEST(RowChoice, IsDrawnByTheSeedFromAllPlaces) {
  const auto first = rows_of({1000, holding_out({}, 100, DataSide::validation, 1)});
  EXPECT_EQ(first, rows_of({1000, holding_out({}, 100, DataSide::validation, 1)}));
  EXPECT_NE(first, rows_of({1000, holding_out({}, 100, DataSide::validation, 2)}));
  // The mean of 100 of 0..999 is 499.5, with a standard error of 27.
  const double mean =
      static_cast<double>(std::accumulate(first.begin(), first.end(), std::uint64_t{0})) / 100;
  EXPECT_NEAR(mean, 499.5, 5 * 27);
}

TEST(RowChoice, IsTheFirstRowsAndNoMoreThanThereAre) {
  EXPECT_THAT(rows_of({10, {.max_samples = 3}}), ElementsAre(0, 1, 2));
  EXPECT_EQ(RowChoice(2, {.max_samples = 3}).count(), 2);
  RowChoiceConfig both = holding_out({}, 1, DataSide::validation);
  both.max_samples = 2;
  EXPECT_LT(RowChoice(1000, both).row_at(0), 2);
}

TEST(RowChoice, OfNothingIsRefused) {
  const auto refusal = [](std::uint64_t rows, const RowChoiceConfig& config) {
    return test::error_of([&] { RowChoice(rows, config); }, ErrorKind::input);
  };
  EXPECT_THAT(refusal(3, holding_out(0.1, {}, DataSide::training)), HasSubstr("0.1 of 3 rows is none"));
  EXPECT_THAT(refusal(3, holding_out({}, 3, DataSide::training)), HasSubstr("none is left to train on"));
}

TEST(ChosenDocuments, AreTheDocumentsWithWhatCounts) {
  auto corpus = std::make_shared<CountedCorpus>(1000);
  std::vector<std::vector<std::int64_t>> documents;
  for (std::int32_t i = 0; i < 40; ++i) {
    std::vector<std::int32_t> ids;
    std::vector<bool> counted;
    for (std::int32_t k = 0; k < i % 4; ++k) {
      ids.push_back(10 * i + k);
      counted.push_back((i + k) % 3 == 0);
    }
    corpus->add_document(ids, counted);
    documents.emplace_back(ids.begin(), ids.end());
  }
  for (const DataSide side : {DataSide::training, DataSide::validation}) {
    const RowChoiceConfig config = holding_out({}, 15, side);
    const auto chosen = chosen_documents(corpus, config);
    const auto rows = rows_of({40, config});
    ASSERT_EQ(chosen->num_documents(), rows.size());
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& document = documents[rows[i]];
      std::vector<std::int64_t> read(chosen->begin_of(i + 1) - chosen->begin_of(i));
      chosen->read(chosen->begin_of(i), read);
      EXPECT_EQ(read, document) << i;
      for (std::size_t k = 0; k < read.size(); ++k)
        EXPECT_EQ(chosen->counts(chosen->begin_of(i) + k), (rows[i] + k) % 3 == 0);
      all.insert(all.end(), document.begin(), document.end());
    }
    std::vector<std::int64_t> whole(chosen->num_tokens());
    chosen->read(0, whole);
    EXPECT_EQ(whole, all);
  }
}

}  // namespace
}  // namespace d9d
