#include "runtime/data/source/document_pieces.hpp"

#include <gmock/gmock.h>

#include "runtime/data/corpus/memory_corpus.hpp"

namespace d9d {
namespace {

using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // token of the row, inputs

MemoryCorpus corpus_with(const std::vector<std::size_t>& lengths) {
  MemoryCorpus corpus(100);
  for (const std::size_t length : lengths) corpus.add_document(std::vector<std::int32_t>(length));
  return corpus;
}

Places places_from(const DocumentPieces& pieces, std::uint64_t first) {
  Places places;
  pieces.from(first, [&](const DocumentPieces::Piece& piece) {
    places.emplace_back(piece.begin, piece.tokens);
    return true;
  });
  return places;
}

TEST(DocumentPieces, CutLongDocumentsAndLeaveOutThoseOfOneToken) {
  const MemoryCorpus corpus = corpus_with({2, 1, 0, 8, 4});
  const DocumentPieces pieces(corpus, 3);

  EXPECT_EQ(pieces.count(), 5U);
  EXPECT_EQ(pieces.num_left_out(), 2U);
  EXPECT_EQ(places_from(pieces, 0), (Places{{0, 1}, {3, 3}, {6, 3}, {9, 1}, {11, 3}}));
  EXPECT_EQ(places_from(pieces, 2), (Places{{6, 3}, {9, 1}, {11, 3}}));
  EXPECT_EQ(places_from(pieces, 5), Places());
}

TEST(DocumentPieces, HaveEveryTokenWhereLabelsAreTheTokensThemselves) {
  const MemoryCorpus corpus = corpus_with({2, 1, 0, 7, 3});
  const DocumentPieces pieces(corpus, 3, TokenLabels::own);

  EXPECT_EQ(pieces.num_left_out(), 1U);
  EXPECT_EQ(places_from(pieces, 0), (Places{{0, 2}, {2, 1}, {3, 3}, {6, 3}, {9, 1}, {10, 3}}));
  EXPECT_EQ(places_from(pieces, 4), (Places{{9, 1}, {10, 3}}));
  EXPECT_EQ(pieces.at(1).begin, 2U);
}

TEST(DocumentPieces, OfAnyNumberAreThoseInOrder) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 300; ++i) lengths.push_back(i * i % 11);
  const MemoryCorpus corpus = corpus_with(lengths);
  const DocumentPieces pieces(corpus, 4);
  const Places all = places_from(pieces, 0);

  ASSERT_EQ(all.size(), pieces.count());
  for (std::uint64_t i = 0; i < pieces.count(); ++i) {
    EXPECT_EQ(pieces.at(i).begin, all[i].first);
    EXPECT_EQ(pieces.at(i).tokens, all[i].second);
  }
}

TEST(DocumentPieces, StopWhenTheCallerHasEnough) {
  const MemoryCorpus corpus = corpus_with({9, 9});
  int seen = 0;

  DocumentPieces(corpus, 2).from(1, [&](const DocumentPieces::Piece&) { return ++seen < 3; });

  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace d9d
