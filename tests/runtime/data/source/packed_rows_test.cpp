#include "runtime/data/source/packed_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/data/corpus/memory_corpus.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t row_length = 100;

// Documents of 1 to 150 tokens.
MemoryCorpus corpus_of_documents(int count) {
  MemoryCorpus corpus(100000);
  for (int i = 0; i < count; ++i) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(1 + i * i % 150));
    corpus.add_document(ids);
  }
  return corpus;
}

TEST(PackedRows, HaveEachPieceOnceAndWhole) {
  const MemoryCorpus corpus = corpus_of_documents(3000);
  const DocumentPieces pieces(corpus, row_length);
  const PackedRows rows(pieces, row_length);
  std::vector<std::uint64_t> expected, begins;
  for (std::uint64_t i = 0; i < pieces.count(); ++i) expected.push_back(pieces.at(i).begin);

  for (std::uint64_t row = 0; row < rows.count(); ++row) {
    std::uint64_t tokens = 0;
    for (const DocumentPieces::Piece& piece : rows.at(row)) {
      begins.push_back(piece.begin);
      tokens += piece.tokens;
    }
    EXPECT_LE(tokens, row_length);
  }

  std::ranges::sort(begins);
  EXPECT_EQ(begins, expected);
}

TEST(PackedRows, AreNearlyFull) {
  const MemoryCorpus corpus = corpus_of_documents(3000);
  const PackedRows rows(DocumentPieces(corpus, row_length), row_length);

  const double inputs = static_cast<double>(corpus.num_tokens() - corpus.num_documents());

  EXPECT_GT(inputs / static_cast<double>(rows.count() * row_length), 0.95);
}

TEST(PackedRows, KeepTheOrderOfTheCorpus) {
  const MemoryCorpus corpus = corpus_of_documents(400);
  const PackedRows rows(DocumentPieces(corpus, row_length), row_length);
  std::uint64_t group_end = 0;
  for (std::uint64_t row = 0; row < rows.count(); ++row) {
    const auto pieces = rows.at(row);
    for (std::size_t i = 1; i < pieces.size(); ++i) EXPECT_GT(pieces[i].begin, pieces[i - 1].begin);
    EXPECT_LT(pieces.back().begin, group_end + 40 * row_length) << "a piece waits for 32 rows at most";
    group_end = std::max(group_end, pieces.front().begin);
  }
}

TEST(PackedRows, OfNothingAreNone) {
  const MemoryCorpus corpus = corpus_of_documents(0);

  EXPECT_EQ(PackedRows(DocumentPieces(corpus, row_length), row_length).count(), 0U);
}

}  // namespace
}  // namespace d9d
