#include "runtime/data/read_microbatch.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

// Sample i is [i, i, ...] with labels [i + 1, ...].
class CountingSource final : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 3; }
  std::optional<std::int64_t> vocab_size() const override { return std::nullopt; }
  Sample at(std::uint64_t index) const override {
    const auto value = static_cast<std::int64_t>(index);
    return {{value, value, value}, {value + 1, value + 1, value + 1}};
  }
};

using Rows = std::vector<std::int64_t>;

// The sample numbers of a microbatch.
Rows rows_of(const BatchMaths& maths, std::int64_t data_rank, std::uint64_t step_begin,
             std::int64_t microbatch) {
  const at::Tensor ids =
      read_microbatch(CountingSource(), maths, data_rank, step_begin, microbatch).at("input_ids");
  Rows rows;
  for (std::int64_t b = 0; b < ids.size(0); ++b) rows.push_back(ids.const_data_ptr<std::int64_t>()[b * 3]);
  return rows;
}

TEST(ReadMicrobatch, GivesARankItsBlockOfTheGlobalBatchInOrder) {
  const BatchMaths maths = batch_maths(12, 2, 2);

  EXPECT_EQ(rows_of(maths, 1, 0, 0), (Rows{6, 7}));
  EXPECT_EQ(rows_of(maths, 1, 0, 2), (Rows{10, 11}));
  EXPECT_EQ(rows_of(maths, 1, 12, 1), (Rows{20, 21}));
}

TEST(ReadMicrobatch, CutsTheSameStreamForEveryNumberOfDataRanks) {
  for (const std::int64_t ranks : {1, 2, 3, 4, 6}) {
    const BatchMaths maths = batch_maths(12, 1, ranks);
    Rows all;
    for (std::uint64_t begin = 0; begin < 36; begin += 12) {
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        for (std::int64_t i = 0; i < maths.num_microbatches; ++i) {
          for (const std::int64_t row : rows_of(maths, rank, begin, i)) all.push_back(row);
        }
      }
    }

    for (std::int64_t i = 0; i < 36; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i) << ranks << " ranks";
  }
}

TEST(Microbatch, HoldsInputsLabelsAndPositionsAsInt64) {
  const std::vector<Sample> samples{{{5, 6, 7}, {6, 7, ignored_label}}, {{1, 2, 3}, {2, 3, 4}}};

  const TensorMap microbatch = make_microbatch(samples);

  ASSERT_EQ(microbatch.size(), 3u);
  for (const auto& [name, tensor] : microbatch) {
    EXPECT_EQ(tensor.scalar_type(), at::kLong) << name;
    EXPECT_EQ(tensor.sizes(), (at::IntArrayRef{2, 3})) << name;
  }
  EXPECT_EQ(microbatch.at("labels").const_data_ptr<std::int64_t>()[2], ignored_label);
  EXPECT_EQ(microbatch.at("position_ids").const_data_ptr<std::int64_t>()[5], 2);
}

TEST(Microbatch, HasAMaskWhereARowIsFilledUp) {
  std::vector<Sample> samples{{{5, 6, 7}, {6, 7, 8}}, {{1, 2, 0}, {-100, -100, -100}}};
  EXPECT_FALSE(make_microbatch(samples).contains("token_mask"));
  samples[0].token_mask = {true, true, true};
  EXPECT_FALSE(make_microbatch(samples).contains("token_mask"));

  samples[1].token_mask = {true, true, false};
  const at::Tensor mask = make_microbatch(samples).at("token_mask");

  EXPECT_EQ(mask.scalar_type(), at::kBool);
  EXPECT_EQ(mask.sizes(), (at::IntArrayRef{2, 3}));
  const auto* const first = mask.const_data_ptr<bool>();
  EXPECT_EQ(std::vector<bool>(first, first + 6), (std::vector<bool>{true, true, true, true, true, false}));
  samples[1].token_mask = {true};
  EXPECT_THROW(make_microbatch(samples), Error);
}

TEST(ReadMicrobatch, EndsWithTheSamplesThatAreLeft) {
  const BatchMaths maths = batch_maths(8, 2, 2);
  const auto rows_before = [&](std::uint64_t end, std::int64_t data_rank, std::int64_t microbatch) {
    const at::Tensor ids =
        read_microbatch(CountingSource(), maths, data_rank, 8, microbatch, nullptr, end).at("input_ids");
    Rows rows;
    for (std::int64_t b = 0; b < ids.size(0); ++b) rows.push_back(ids[b][0].item<std::int64_t>());
    EXPECT_EQ(is_filler(maths, data_rank, 8, microbatch, end),
              rows.front() != 8 + data_rank * 4 + microbatch * 2);
    return rows;
  };

  EXPECT_EQ(rows_before(11, 0, 0), (Rows{8, 9}));
  EXPECT_EQ(rows_before(11, 0, 1), (Rows{10}));
  EXPECT_EQ(rows_before(11, 1, 0), (Rows{10})) << "a rank without samples computes one, which counts nowhere";
  EXPECT_EQ(rows_before(16, 1, 1), (Rows{14, 15}));
}

TEST(Microbatch, OfPackedDocumentsCountsPositionsFromTheirStarts) {
  const std::vector<Sample> samples{{{5, 6, 7}, {6, 7, 8}, {0, 1, 1}}, {{1, 2, 3}, {2, 3, 4}}};

  const TensorMap microbatch = make_microbatch(samples);

  const auto values = [&](const char* name) {
    const auto* const first = microbatch.at(name).const_data_ptr<std::int64_t>();
    return Rows(first, first + 6);
  };
  EXPECT_EQ(values("document_starts"), (Rows{0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(values("position_ids"), (Rows{0, 0, 1, 0, 1, 2}));
  EXPECT_THROW(make_microbatch(std::vector<Sample>{{{5, 6}, {6, 7}, {0}}}), Error);
}

TEST(Microbatch, RefusesSamplesOfDifferentLength) {
  const std::vector<Sample> samples{{{5, 6, 7}, {6, 7, 8}}, {{1, 2}, {2, 3}}};

  EXPECT_THROW(make_microbatch(samples), Error);
}

TEST(Microbatch, HasTheNumbersOfItsSamplesByTheirNames) {
  std::vector<Sample> samples{{{5, 6}, {6, 7}}, {{1, 2}, {2, 3}}};
  samples[0].numbers["image/pixels"] = {1, 2, 3};
  samples[1].numbers["image/pixels"] = {4, 5, 6};

  const at::Tensor pixels = make_microbatch(samples).at("image/pixels");

  EXPECT_EQ(pixels.scalar_type(), at::kFloat);
  EXPECT_EQ(pixels.sizes(), (at::IntArrayRef{2, 3}));
  EXPECT_EQ(pixels.const_data_ptr<float>()[5], 6);
  samples[1].numbers["image/pixels"] = {4};
  EXPECT_THROW(make_microbatch(samples), Error);
  samples[1].numbers = {{"image/depth", {4, 5, 6}}};
  EXPECT_THROW(make_microbatch(samples), Error);
  samples[1].numbers = {};
  EXPECT_THROW(make_microbatch(samples), Error);
}

// Sample i has i % 5 + 1 inputs, filled up to 8.
class GrowingSource final : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 8; }
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override {
    return static_cast<std::int64_t>(index % 5 + 1);
  }
  Sample at(std::uint64_t index) const override {
    Sample sample{std::vector<std::int64_t>(8, 0), std::vector<std::int64_t>(8, ignored_label)};
    std::fill_n(sample.input_ids.begin(), *sort_key(index), 7);
    std::fill_n(sample.labels.begin(), *sort_key(index), 7);
    return sample;
  }
};

TEST(ReadMicrobatch, CutsToItsLongestSampleRoundedUp) {
  BatchMaths maths = batch_maths(4, 2, 1);
  const auto length = [&](std::uint64_t step_begin, std::int64_t microbatch) {
    return read_microbatch(GrowingSource(), maths, 0, step_begin, microbatch).at("labels").size(1);
  };
  EXPECT_EQ(length(0, 0), 8);

  maths.cut_unit = 1;
  EXPECT_EQ(length(0, 0), 2);
  EXPECT_EQ(length(0, 1), 4);
  EXPECT_EQ(length(4, 0), 5) << "lengths 5 and 1";
  maths.cut_unit = 4;
  EXPECT_EQ(length(0, 0), 4);
  EXPECT_EQ(length(4, 0), 8);
  EXPECT_EQ(read_microbatch(CountingSource(), maths, 0, 0, 0).at("input_ids").size(1), 3)
      << "it has no lengths";
}

// Says less than its labels take.
class TooShort final : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 8; }
  std::optional<std::int64_t> sort_key(std::uint64_t) const override { return 3; }
  Sample at(std::uint64_t index) const override { return GrowingSource().at(index); }
};

TEST(ReadMicrobatch, DoesNotCutLabelsAway) {
  BatchMaths maths = batch_maths(2, 2, 1);
  maths.cut_unit = 1;

  EXPECT_EQ(read_microbatch(TooShort(), maths, 0, 0, 0).at("labels").size(1), 3);
  // Of 3 and 4 inputs.
  EXPECT_THAT(test::error_of([&] { read_microbatch(TooShort(), maths, 0, 2, 0); }),
              testing::HasSubstr("sample 3 has labels after the 3 tokens"));
}

// Labels alone, from last to first.
class Backwards final : public Collation {
 public:
  TensorMap collate(std::span<const Sample> samples) const override {
    const std::vector<Sample> turned(samples.rbegin(), samples.rend());
    return {{"labels", make_microbatch(turned).at("labels")}};
  }
};

TEST(Microbatch, IsMadeByACollationWhereThereIsOne) {
  const BatchMaths maths = batch_maths(4, 2, 1);
  const Backwards backwards;

  const TensorMap batch = read_microbatch(CountingSource(), maths, 0, 0, 1, &backwards);

  const TensorMap plain = read_microbatch(CountingSource(), maths, 0, 0, 1);
  EXPECT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch.at("labels")[0][0].item<std::int64_t>(), plain.at("labels")[1][0].item<std::int64_t>());
}

TEST(MakeMicrobatch, StacksValuesThatAreTensorsOfAnyDtype) {
  std::vector<Sample> samples(2, Sample{{5}, {6}});
  samples[0].values["pixels"] = at::tensor({1, 2}, at::kByte);
  samples[1].values["pixels"] = at::tensor({3, 4}, at::kByte);

  const at::Tensor pixels = make_microbatch(samples).at("pixels");

  EXPECT_EQ(pixels.scalar_type(), at::kByte);
  EXPECT_TRUE(pixels.equal(at::tensor({1, 2, 3, 4}, at::kByte).view({2, 2})));
}

TEST(MakeMicrobatch, RefusesValuesThatMakeNoTensor) {
  const auto refused = [](const SampleValue& first, const SampleValue& second, const char* name = "extra") {
    std::vector<Sample> samples(2, Sample{{5}, {6}});
    samples[0].values[name] = first;
    samples[1].values[name] = second;
    return test::error_of([&] { make_microbatch(samples); }, ErrorKind::input);
  };
  const at::Tensor two = at::tensor({1, 2}, at::kLong);

  EXPECT_THAT(refused(two, two.to(at::kFloat)),
              testing::HasSubstr("the values extra of a microbatch's samples"));
  EXPECT_THAT(refused(two, two.narrow(0, 0, 1)), testing::HasSubstr("not tensors of one shape and dtype"));
  EXPECT_THAT(refused(std::string("a"), std::string("b")), testing::HasSubstr("register a collation"));
  EXPECT_THAT(refused(two, two, "labels"), testing::HasSubstr("a value called labels"));
}

}  // namespace
}  // namespace d9d
