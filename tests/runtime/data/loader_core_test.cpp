#include "runtime/data/loader_core.hpp"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"

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

// The sample numbers of a pack, microbatch by microbatch.
std::vector<std::vector<std::int64_t>> indices_of(const MicrobatchPack& pack) {
  std::vector<std::vector<std::int64_t>> out;
  for (const TensorMap& microbatch : pack) {
    const at::Tensor& ids = microbatch.at("input_ids");
    auto& row = out.emplace_back();
    for (std::int64_t b = 0; b < ids.size(0); ++b) row.push_back(ids.const_data_ptr<std::int64_t>()[b * 3]);
  }
  return out;
}

const auto kSource = std::make_shared<const CountingSource>();

TEST(LoaderCore, GivesARankItsBlockOfTheGlobalBatchInOrder) {
  LoaderCore loader(kSource, batch_maths(12, 2, 2), 1, 0);

  const auto first = indices_of(*loader.next());
  const auto second = indices_of(*loader.next());

  EXPECT_EQ(first, (std::vector<std::vector<std::int64_t>>{{6, 7}, {8, 9}, {10, 11}}));
  EXPECT_EQ(second, (std::vector<std::vector<std::int64_t>>{{18, 19}, {20, 21}, {22, 23}}));
  EXPECT_EQ(loader.position(), 24u);
}

TEST(LoaderCore, CutsTheSameStreamForEveryNumberOfDataRanks) {
  for (const std::int64_t ranks : {1, 2, 3, 4, 6}) {
    std::vector<std::int64_t> all;
    std::vector<LoaderCore> loaders;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      loaders.emplace_back(kSource, batch_maths(12, 1, ranks), rank, 0);
    for (int step = 0; step < 3; ++step) {
      for (LoaderCore& loader : loaders) {
        for (const auto& row : indices_of(*loader.next())) all.insert(all.end(), row.begin(), row.end());
      }
    }

    for (std::int64_t i = 0; i < 36; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i) << ranks << " ranks";
  }
}

TEST(LoaderCore, GoesOnFromAnyPositionWithAnotherLayout) {
  LoaderCore before(kSource, batch_maths(6, 3, 2), 0, 0);
  before.next();

  LoaderCore after(kSource, batch_maths(4, 1, 1), 0, before.position());

  EXPECT_EQ(indices_of(*after.next()), (std::vector<std::vector<std::int64_t>>{{6}, {7}, {8}, {9}}));
}

TEST(LoaderCore, StopsBeforeAStepThatWouldReachBeyondTheEnd) {
  LoaderCore loader(kSource, batch_maths(4, 2, 1), 0, 0, 11);

  EXPECT_TRUE(loader.next());
  EXPECT_TRUE(loader.next());
  EXPECT_FALSE(loader.next());
  EXPECT_EQ(loader.position(), 8u);
}

TEST(Microbatch, HoldsInputsLabelsAndPositionsAsInt64) {
  const std::vector<Sample> samples{{{5, 6, 7}, {6, 7, kIgnoredLabel}}, {{1, 2, 3}, {2, 3, 4}}};

  const TensorMap microbatch = make_microbatch(samples);

  ASSERT_EQ(microbatch.size(), 3u);
  for (const auto& [name, tensor] : microbatch) {
    EXPECT_EQ(tensor.scalar_type(), at::kLong) << name;
    EXPECT_EQ(tensor.sizes(), (at::IntArrayRef{2, 3})) << name;
  }
  EXPECT_EQ(microbatch.at("labels").const_data_ptr<std::int64_t>()[2], kIgnoredLabel);
  EXPECT_EQ(microbatch.at("position_ids").const_data_ptr<std::int64_t>()[5], 2);
}

TEST(Microbatch, RefusesSamplesOfDifferentLength) {
  const std::vector<Sample> samples{{{5, 6, 7}, {6, 7, 8}}, {{1, 2}, {2, 3}}};

  EXPECT_THROW(make_microbatch(samples), Error);
}

}  // namespace
}  // namespace d9d
