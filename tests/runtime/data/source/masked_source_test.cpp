#include "runtime/data/source/masked_source.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

constexpr std::int64_t mask_id = 3, num_words = 50;

MaskingOptions masking() {
  return {.seed = 7, .mask_token_id = mask_id, .vocab_size = num_words};
}

// A sample of ids from 10 on, each the label of the token before it.
Sample maskable_row(std::size_t length) {
  Sample sample;
  for (std::size_t i = 0; i < length; ++i) {
    sample.input_ids.push_back(10 + static_cast<std::int64_t>(i % 40));
    sample.labels.push_back(10 + static_cast<std::int64_t>((i + 1) % 40));
  }
  return sample;
}

Sample masked_sample(Sample sample, std::uint64_t number, const MaskingOptions& options = masking()) {
  leave_words_out(sample, number, options);
  return sample;
}

std::size_t num_chosen(const Sample& sample) {
  return sample.labels.size() - static_cast<std::size_t>(std::ranges::count(sample.labels, ignored_label));
}

class MaskableRows final : public SampleSource {
 public:
  explicit MaskableRows(bool stream = false) : stream_(stream) {}
  std::optional<std::uint64_t> num_samples() const override { return 4; }
  std::int64_t sequence_length() const override { return 20; }
  std::optional<std::int64_t> vocab_size() const override { return num_words; }
  Sample at(std::uint64_t) const override { return maskable_row(20); }
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override {
    return static_cast<std::int64_t>(index);
  }
  bool is_stream() const override { return stream_; }

 private:
  const bool stream_;
};

TEST(MaskedSource, LabelsAreTheWordsThatWereLeftOutInTheirPlaces) {
  const Sample before = maskable_row(200), after = masked_sample(before, 0);

  ASSERT_GT(num_chosen(after), 0U);
  for (std::size_t i = 0; i < 200; ++i) {
    if (after.labels[i] == ignored_label) {
      EXPECT_EQ(after.input_ids[i], before.input_ids[i]);
    } else {
      EXPECT_EQ(after.labels[i], before.input_ids[i]);
    }
  }
}

// Bounds of five standard deviations of a binomial share of 40000 tokens, and of the 12000 that are chosen.
TEST(MaskedSource, ChoosesAndReplacesTheSharesThatItIsTold) {
  const Sample before = maskable_row(40000), after = masked_sample(before, 5);
  double masks = 0, others = 0;
  for (std::size_t i = 0; i < before.labels.size(); ++i) {
    if (after.labels[i] == ignored_label) continue;
    masks += after.input_ids[i] == mask_id ? 1 : 0;
    others += after.input_ids[i] != mask_id && after.input_ids[i] != before.input_ids[i] ? 1 : 0;
    EXPECT_TRUE(after.input_ids[i] >= 0 && after.input_ids[i] < num_words);
  }

  const auto count = static_cast<double>(num_chosen(after));
  EXPECT_NEAR(count / 40000, 0.3, 0.0115);
  EXPECT_NEAR(masks / count, 0.8 + 0.1 / num_words, 0.0185);
  EXPECT_NEAR(others / count, 0.1 * (num_words - 2) / num_words, 0.0135);
}

TEST(MaskedSource, IsAFunctionOfSeedAndNumberThatDiffersInEveryEpoch) {
  const auto rows = std::make_shared<MaskableRows>();
  const MaskedSource source(rows, masking()), again(rows, masking());
  MaskingOptions other = masking();
  other.seed = 8;

  EXPECT_EQ(source.at(2), again.at(2));
  EXPECT_NE(source.at(2), source.at(2 + 4));
  EXPECT_NE(source.at(2), source.at(3));
  EXPECT_NE(source.at(2), MaskedSource(rows, other).at(2));
}

TEST(MaskedSource, LeavesFillingAndChosenIdsAndTokensThatDoNotCount) {
  MaskingOptions all = masking();
  all.mlm_probability = 1;
  all.unmasked_ids = {12};
  Sample sample = maskable_row(12);
  sample.labels[4] = ignored_label;
  sample.token_mask.assign(12, true);
  sample.token_mask[11] = false;

  const Sample after = masked_sample(sample, 0, all);

  for (const std::size_t i : {2, 5, 11}) EXPECT_EQ(after.labels[i], ignored_label) << i;
  EXPECT_EQ(num_chosen(after), 9U);
}

// The token before is that of another document.
TEST(MaskedSource, MayChooseTheFirstTokenOfEachDocument) {
  MaskingOptions all = masking();
  all.mlm_probability = 1;
  Sample sample = maskable_row(6);
  sample.labels[2] = ignored_label;
  sample.document_starts = {0, 0, 0, 3, 3, 3};

  EXPECT_EQ(num_chosen(masked_sample(sample, 0, all)), 6U);
}

// As a source makes it for this task: labels are the tokens themselves, of those that count.
TEST(MaskedSource, ChoosesTokensWhoseOwnLabelCounts) {
  MaskingOptions all = masking();
  all.mlm_probability = 1;
  Sample sample = maskable_row(6);
  sample.labels = sample.input_ids;
  sample.labels[0] = sample.labels[3] = ignored_label;

  const Sample after = masked_sample(sample, 0, all);

  EXPECT_THAT(after.labels, testing::ElementsAre(ignored_label, 11, 12, ignored_label, 14, 15));
}

TEST(MaskedSource, IsOtherwiseItsSource) {
  const MaskedSource source(std::make_shared<MaskableRows>(), masking());

  EXPECT_EQ(source.num_samples(), 4U);
  EXPECT_EQ(source.sequence_length(), 20);
  EXPECT_EQ(source.vocab_size(), num_words);
  EXPECT_EQ(source.sort_key(3), 3);
  EXPECT_EQ(source.at(1).document_starts, maskable_row(20).document_starts);
}

TEST(MaskedSource, RefusesAStream) {
  EXPECT_THAT(
      test::error_of([] { MaskedSource(std::make_shared<MaskableRows>(true), masking()); }, ErrorKind::input),
      testing::HasSubstr("take another source"));
}

}  // namespace
}  // namespace d9d
