#include "runtime/data/source/mixture_source.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/data/build_source.hpp"
#include "tests/runtime/data/folder.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/npy_file.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

class Mixture : public testing::Test {
 protected:
  // `rows` samples, each of one token: 1000 * part + row.
  MixturePart part(double weight, int part, int rows, Epochs epochs = {}) {
    const std::string path =
        folder_.write("part" + std::to_string(part) + ".npy",
                      test::npy_file(rows, 2, [=](int row, int) { return 1000 * part + row; }));
    TokensDataConfig tokens{.tokens = path};
    tokens.epochs = epochs;
    return {weight, tokens};
  }
  static std::vector<std::int64_t> first_tokens(const SampleSource& source, std::uint64_t count) {
    std::vector<std::int64_t> tokens;
    for (std::uint64_t i = 0; i < count; ++i) tokens.push_back(source.at(i).input_ids[0]);
    return tokens;
  }

  const Folder folder_;
};

TEST_F(Mixture, ReadsEachPartInItsOrderAndAgainByItsEpochs) {
  const auto source =
      build_source(MixtureDataConfig{{part(3, 0, 100), part(1, 1, 2, {.count = std::nullopt})}}, {});

  EXPECT_EQ(first_tokens(*source, 12),
            (std::vector<std::int64_t>{0, 1, 1000, 2, 3, 4, 1001, 5, 6, 7, 1000, 8}));
}

TEST_F(Mixture, KnowsTheLengthsThatItsPartsKnow) {
  struct Part final : SampleSource {
    explicit Part(bool knows) : knows_(knows) {}
    std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
    std::int64_t sequence_length() const override { return 9; }
    Sample at(std::uint64_t) const override { return {}; }
    std::optional<std::int64_t> sort_key(std::uint64_t index) const override {
      return knows_ ? std::optional(static_cast<std::int64_t>(index) + 1) : std::nullopt;
    }
    const bool knows_;
  };
  const MixtureSource source({{1, std::make_shared<Part>(true), {}}, {1, std::make_shared<Part>(false), {}}});

  EXPECT_EQ(source.sort_key(0), 1);
  EXPECT_EQ(source.sort_key(1), std::nullopt);
  EXPECT_EQ(source.sort_key(2), 2);
}

TEST_F(Mixture, EndsWithTheFirstPartThatIsUsedUp) {
  const auto samples = [](const MixtureDataConfig& config) {
    return build_source(config, {})->num_samples();
  };

  EXPECT_EQ(samples({{part(1, 0, 10), part(1, 1, 4)}}), 9U) << "the fifth turn of part 1 is sample 9";
  EXPECT_EQ(samples({{part(1, 0, 10), part(1, 1, 4, {.count = 2})}}), 17U);
  EXPECT_EQ(samples({{part(1, 0, 10), part(1, 1, 4, {.count = std::nullopt})}}), 20U);
  EXPECT_EQ(samples({{part(1, 0, 10, {.count = std::nullopt})}}), std::nullopt);
}

TEST_F(Mixture, HasEverySampleOfAnEpochOnce) {
  MixturePart shuffled = part(1, 1, 20);
  std::get<TokensDataConfig>(shuffled.source).shuffle = true;
  const auto source = build_source(MixtureDataConfig{{part(2, 0, 100), shuffled}}, {.base_seed = 3});

  std::vector<std::int64_t> of_part_1;
  for (const std::int64_t token : first_tokens(*source, *source->num_samples())) {
    if (token >= 1000) of_part_1.push_back(token - 1000);
  }

  EXPECT_FALSE(std::ranges::is_sorted(of_part_1));
  std::ranges::sort(of_part_1);
  ASSERT_EQ(of_part_1.size(), 20U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(of_part_1[static_cast<std::size_t>(i)], i);
}

TEST_F(Mixture, NamesThePartThatIsWrong) {
  const std::string longer = folder_.write("long.npy", test::npy_file(4, 3, [](int, int) { return 1; }));
  const auto error = [&](MixturePart second) {
    return test::error_of(
        [&] {
          build_source(MixtureDataConfig{{part(1, 0, 4), std::move(second)}}, {});
        },
        ErrorKind::input);
  };

  EXPECT_THAT(error({1, TokensDataConfig{.tokens = longer}}),
              HasSubstr("data.parts.1: its samples have 3 tokens, those of part 0 have 2"));
  EXPECT_THAT(error({1, TokensDataConfig{.tokens = "missing.npy"}}),
              HasSubstr("data.parts.1: cannot open missing.npy"));
  EXPECT_THAT(error(part(1e-9, 1, 4)), HasSubstr("the weight 1e-09 is less than a millionth"));
}

TEST_F(Mixture, LooksThroughTheIdsOfAllParts) {
  const auto source = build_source(MixtureDataConfig{{part(1, 0, 4), part(1, 1, 4)}}, {.ids_below = 1000});

  EXPECT_THAT(test::error_of([&] { source->scan_ids({}); }, ErrorKind::input),
              HasSubstr("part1.npy: row 0 holds the token 1000"));
}

}  // namespace
}  // namespace d9d
