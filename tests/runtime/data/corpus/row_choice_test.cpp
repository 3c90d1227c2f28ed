#include "runtime/data/corpus/row_choice.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "runtime/base/error.hpp"
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

}  // namespace
}  // namespace d9d
