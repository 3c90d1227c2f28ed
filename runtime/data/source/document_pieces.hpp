#pragma once
// Cuts the documents of a corpus into pieces of a sample's length. A document of n tokens has n - 1
// inputs, or n (TokenLabels), cut into pieces of `length` inputs; the last piece is shorter. A document without
// inputs has no piece.

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/data/corpus/token_corpus.hpp"
#include "runtime/data/token_labels.hpp"

namespace d9d {

// Finds the n-th piece of all documents. Memory: 8 bytes for 64 documents.
class DocumentPieces {
 public:
  DocumentPieces(const TokenCorpus& corpus, std::uint64_t length, TokenLabels labels = TokenLabels::next);
  std::uint64_t count() const { return count_; }
  // The number of documents that have no piece.
  std::uint64_t num_left_out() const { return left_out_; }

  struct Piece {
    std::uint64_t begin = 0;   // its first token, as the row counts
    std::uint64_t tokens = 0;  // inputs; the next tokens as labels reach one further
  };
  Piece at(std::uint64_t index) const;
  // Calls the function with the pieces from number `first` on, in order, until it returns false or
  // no piece is left.
  void from(std::uint64_t first, const std::function<bool(const Piece&)>& use) const;

 private:
  std::uint64_t of_document(std::uint64_t document) const;

  const TokenCorpus& corpus_;
  const std::uint64_t length_;
  const std::uint64_t labels_alone_;   // of a document: its last tokens that are no inputs
  std::vector<std::uint64_t> before_;  // pieces before each 64th document
  std::uint64_t count_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace d9d
