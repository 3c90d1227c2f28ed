#include "runtime/data/source/order/ordered_source.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "runtime/data/build_source.hpp"
#include "runtime/data/corpus/memory_corpus.hpp"
#include "runtime/data/source/corpus_source.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

constexpr std::uint64_t num_documents = 60;

// Document i begins with the token i and has 2 to 14 tokens.
std::shared_ptr<const SampleSource> documents(SampleUnit samples, bool shuffle = false) {
  auto corpus = std::make_shared<MemoryCorpus>(1000);
  for (std::uint64_t i = 0; i < num_documents; ++i) {
    std::vector<std::int32_t> ids(2 + i * 29 % 13, static_cast<std::int32_t>(i));
    corpus->add_document(ids);
  }
  return std::make_shared<CorpusSource>(
      corpus, CorpusSourceOptions{
                  .sequence_length = 16, .samples = samples, .shuffle = shuffle, .seed = 4, .pad_id = 99});
}

SampleOrder order_of(std::optional<SortedOrderConfig> sorted, std::optional<ShardsConfig> shards = {}) {
  SampleOrder order;
  order.sorted = sorted;
  order.shards = shards;
  return order;
}

Ids firsts(const SampleSource& source, std::uint64_t begin, std::uint64_t end) {
  Ids out;
  for (std::uint64_t i = begin; i < end; ++i) out.push_back(source.at(i).input_ids[0]);
  return out;
}

std::int64_t length_of(const Sample& sample) {
  return std::ssize(sample.labels) - std::ranges::count(sample.labels, ignored_label);
}

TEST(OrderedSource, PutsDocumentsOfOneLengthTogetherAndLosesNone) {
  for (const bool shuffle : {false, true}) {
    const auto source =
        in_order(documents(SampleUnit::document, shuffle), order_of(SortedOrderConfig{60, 5}), 4);
    ASSERT_EQ(source->num_samples(), num_documents);

    Ids all(num_documents);
    std::iota(all.begin(), all.end(), 0);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      Ids got = firsts(*source, epoch * num_documents, (epoch + 1) * num_documents);
      EXPECT_NE(got, all);
      std::ranges::sort(got);
      EXPECT_EQ(got, all) << "epoch " << epoch;
    }
    for (std::uint64_t pack = 0; pack < 36; ++pack) {
      Ids lengths;
      for (std::uint64_t i = 0; i < 5; ++i) {
        lengths.push_back(length_of(source->at(pack * 5 + i)));
        EXPECT_EQ(source->sort_key(pack * 5 + i), lengths.back());
      }
      const auto [shortest, longest] = std::ranges::minmax(lengths);
      EXPECT_LE(longest - shortest, 2) << "of 60 documents of 13 lengths five that follow each other";
    }
  }
}

TEST(OrderedSource, ReadsTheShardsOfTheSortedOrder) {
  const SampleOrder sorted = order_of(SortedOrderConfig{20, 4});
  const SampleOrder both = order_of(SortedOrderConfig{20, 4}, ShardsConfig{3, ShardMode::chunked, 1});
  const auto whole = in_order(documents(SampleUnit::document), sorted, 7);
  const auto shards = in_order(documents(SampleUnit::document), both, 7);

  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const Ids by_length = firsts(*whole, epoch * 60, epoch * 60 + 60),
              dealt = firsts(*shards, epoch * 60, epoch * 60 + 60);
    for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(dealt[i], by_length[i % 3 * 20 + i / 3]);
  }
}

TEST(OrderedSource, IsTheSourceItselfWhereNothingIsAskedFor) {
  const auto source = documents(SampleUnit::document);

  EXPECT_EQ(in_order(source, {}, 1), source);
}

TEST(OrderedSource, RefusesWhatHasNoLengthsOrNoEnd) {
  for (const SampleUnit unit : {SampleUnit::row, SampleUnit::packed}) {
    EXPECT_THAT(test::error_of(
                    [&] {
                      in_order(documents(unit), order_of(SortedOrderConfig{4, 2}), 1);
                    },
                    ErrorKind::input),
                HasSubstr("data.order.sorted: the samples of this source all have one length, so there is "
                          "nothing to sort by; "
                          "leave it out, or have samples of several lengths (samples: document"));
  }
  const auto endless = build_source(SyntheticDataConfig{4, 10}, {});
  EXPECT_THAT(test::error_of([&] { in_order(endless, order_of({}, ShardsConfig{2}), 1); }, ErrorKind::input),
              HasSubstr("data.order: the source has no end"));
}

// What a plugin registers; its lengths fall.
class Falling final : public SampleSource {
 public:
  std::optional<std::uint64_t> num_samples() const override { return 8; }
  std::int64_t sequence_length() const override { return 8; }
  Sample at(std::uint64_t index) const override { return {{static_cast<std::int64_t>(index)}, {}}; }
  std::optional<std::int64_t> sort_key(std::uint64_t index) const override {
    return 8 - static_cast<std::int64_t>(index % 8);
  }
};

TEST(OrderedSource, IsAnOrderOfSourcesOfPluginsToo) {
  OwnDataConfig own;
  own.order.shards = ShardsConfig{2, ShardMode::chunked, 1};
  const SourceNeeds needs{.base_seed = 1,
                          .make_own = [](const OwnDataConfig&) { return std::make_shared<Falling>(); }};
  EXPECT_THAT(firsts(*build_source(own, needs), 0, 8), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));

  own.order = order_of(SortedOrderConfig{8, 1});
  const Ids by_seed_1 = firsts(*build_source(own, needs), 0, 8);
  own.order = order_of(SortedOrderConfig{8, 4});
  const Ids packs = firsts(*build_source(own, needs), 0, 8);
  EXPECT_NE(packs, by_seed_1);
  EXPECT_EQ(packs[0] < 4, packs[1] < 4);
  EXPECT_EQ(packs[0] < 4, packs[3] < 4);
}

}  // namespace
}  // namespace d9d
