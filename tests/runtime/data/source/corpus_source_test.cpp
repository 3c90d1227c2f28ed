#include "runtime/data/source/corpus_source.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/memory_corpus.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

// Documents of these lengths; their tokens count from 1 through all of them.
std::shared_ptr<const TokenCorpus> corpus_of(const std::vector<int>& lengths) {
  auto corpus = std::make_shared<MemoryCorpus>(100000);
  std::int32_t next = 1;
  for (const int length : lengths) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
    std::iota(ids.begin(), ids.end(), next);
    next += length;
    corpus->add_document(ids);
  }
  return corpus;
}

CorpusSource source_of(const std::vector<int>& lengths, SampleUnit samples,
                       std::int64_t sequence_length = 3) {
  return {corpus_of(lengths), {.sequence_length = sequence_length, .samples = samples, .pad_id = 99}};
}

TEST(CorpusSource, OfARowGoesThroughDocuments) {
  const CorpusSource source = source_of({4, 1, 5}, SampleUnit::row);

  ASSERT_EQ(source.num_samples(), 3U);
  EXPECT_EQ(source.at(1), (Sample{{4, 5, 6}, {5, 6, 7}}));
  EXPECT_EQ(source.at(3), source.at(0)) << "the next epoch";
}

TEST(CorpusSource, OfDocumentsFillsUpTheirEndsAndLosesNone) {
  const CorpusSource source = source_of({2, 1, 4, 6, 0}, SampleUnit::document);

  ASSERT_EQ(source.num_samples(), 4U);
  EXPECT_EQ(source.at(0), (Sample{{1, 99, 99}, {2, -100, -100}, {}, {}, {true, false, false}}));
  EXPECT_EQ(source.at(1), (Sample{{4, 5, 6}, {5, 6, 7}})) << "a document of one token has nothing to predict";
  EXPECT_EQ(source.at(2), (Sample{{8, 9, 10}, {9, 10, 11}}));
  EXPECT_EQ(source.at(3), (Sample{{11, 12, 99}, {12, 13, -100}, {}, {}, {true, true, false}}))
      << "a long document goes on";
}

TEST(CorpusSource, OfManyDocumentsHasEveryLabelOnce) {
  std::vector<int> lengths;
  for (int i = 0; i < 500; ++i) lengths.push_back(i * i % 23);
  const CorpusSource source = source_of(lengths, SampleUnit::document, 8);
  Ids expected;
  std::int64_t token = 1;
  for (const int length : lengths) {
    for (int i = 0; i < length; ++i, ++token) {
      if (i > 0) expected.push_back(token);
    }
  }

  Ids labels;
  for (std::uint64_t i = 0; i < *source.num_samples(); ++i) {
    for (const std::int64_t label : source.at(i).labels) {
      if (label != ignored_label) labels.push_back(label);
    }
  }

  EXPECT_EQ(labels, expected);
}

TEST(CorpusSource, OfPackedDocumentsSaysWhereTheyBegin) {
  const CorpusSource source = source_of({3, 1, 6, 3, 4}, SampleUnit::packed, 5);

  ASSERT_EQ(source.num_samples(), 3U);
  EXPECT_EQ(source.at(0), (Sample{{1, 2, 14, 15, 16}, {2, 3, 15, 16, 17}, {0, 0, 2, 2, 2}}));
  EXPECT_EQ(source.at(1), (Sample{{5, 6, 7, 8, 9}, {6, 7, 8, 9, 10}, {0, 0, 0, 0, 0}}));
  EXPECT_EQ(source.at(2), (Sample{{11, 12, 99, 99, 99},
                                  {12, 13, -100, -100, -100},
                                  {0, 0, 2, 2, 2},
                                  {},
                                  {true, true, false, false, false}}));
}

TEST(CorpusSource, OfRowsHasTheRestWhereItIsAskedFor) {
  const auto rows_of = [](int tokens) {
    return CorpusSource(corpus_of({tokens}),
                        {.sequence_length = 3, .pad_id = 99, .form = {.rest = RestOfRows::filled_up}});
  };
  const CorpusSource source = rows_of(9);

  ASSERT_EQ(source.num_samples(), 3U);
  EXPECT_EQ(source.at(1), (Sample{{4, 5, 6}, {5, 6, 7}}));
  EXPECT_EQ(source.at(2), (Sample{{7, 8, 99}, {8, 9, -100}, {}, {}, {true, true, false}}));
  EXPECT_EQ(rows_of(10).num_samples(), 3U) << "nothing is left";
  EXPECT_EQ(rows_of(2).at(0), (Sample{{1, 99, 99}, {2, -100, -100}, {}, {}, {true, false, false}}));
  EXPECT_THAT(test::error_of([&] { rows_of(1); }, ErrorKind::input),
              HasSubstr("the text has 1 token, expected more than one"));
}

TEST(CorpusSource, HasEveryTokenAsAnInputWhereTheTaskLearnsNoNextOne) {
  const auto source_of = [](const std::vector<int>& lengths, SampleUnit samples) {
    return CorpusSource(
        corpus_of(lengths),
        {.sequence_length = 3, .samples = samples, .pad_id = 99, .form = {.labels = TokenLabels::own}});
  };
  const std::vector<int> lengths{2, 1, 4, 0};

  const CorpusSource documents = source_of(lengths, SampleUnit::document);
  ASSERT_EQ(documents.num_samples(), 4U);
  EXPECT_EQ(documents.at(0), (Sample{{1, 2, 99}, {1, 2, -100}, {}, {}, {true, true, false}}));
  EXPECT_EQ(documents.at(1), (Sample{{3, 99, 99}, {3, -100, -100}, {}, {}, {true, false, false}}));
  EXPECT_EQ(documents.at(2), (Sample{{4, 5, 6}, {4, 5, 6}}));
  EXPECT_EQ(documents.at(3), (Sample{{7, 99, 99}, {7, -100, -100}, {}, {}, {true, false, false}}));
  EXPECT_EQ(documents.sort_key(0), 2);

  const CorpusSource packed = source_of(lengths, SampleUnit::packed);
  ASSERT_EQ(packed.num_samples(), 3U);
  EXPECT_EQ(packed.at(0), (Sample{{1, 2, 3}, {1, 2, 3}, {0, 0, 2}}));

  const CorpusSource rows = source_of(lengths, SampleUnit::row);
  ASSERT_EQ(rows.num_samples(), 3U);
  EXPECT_EQ(rows.at(2), (Sample{{7, 99, 99}, {7, -100, -100}, {}, {}, {true, false, false}}));
  EXPECT_EQ(source_of({1}, SampleUnit::row).num_samples(), 1U);
  EXPECT_EQ(source_of({6}, SampleUnit::row).num_samples(), 2U) << "no row without a token";
}

TEST(CorpusSource, RefusesACorpusWithoutOneSample) {
  EXPECT_THAT(test::error_of([] { source_of({3}, SampleUnit::row); }, ErrorKind::input),
              HasSubstr("the text has 3 tokens, expected more than data.sequence_length = 3"));
  EXPECT_THAT(test::error_of(
                  [] {
                    source_of({1, 1}, SampleUnit::document);
                  },
                  ErrorKind::input),
              HasSubstr("the text has 2 documents, all shorter than two tokens"));
}

}  // namespace
}  // namespace d9d
