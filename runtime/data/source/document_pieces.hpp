#pragma once
// Documents of a corpus cut into samples' lengths: a document of n tokens has n - 1 inputs with labels, in
// pieces of `length` inputs; the last one is shorter. A document of one token has none.

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/data/corpus/token_corpus.hpp"

namespace d9d {

// Which piece of which document is the n-th of all. Memory: 8 bytes for 64 documents.
class DocumentPieces {
 public:
  DocumentPieces(const TokenCorpus& corpus, std::uint64_t length);
  std::uint64_t count() const { return count_; }
  // Documents without a piece, because no token of theirs has a next one.
  std::uint64_t num_left_out() const { return left_out_; }

  struct Piece {
    std::uint64_t begin = 0;   // token of the row
    std::uint64_t tokens = 0;  // inputs; the labels reach one further
  };
  Piece at(std::uint64_t index) const;
  // Calls with the pieces from number `first` on, in order, until a call returns false or there are no more.
  void from(std::uint64_t first, const std::function<bool(const Piece&)>& use) const;

 private:
  std::uint64_t of_document(std::uint64_t document) const;

  const TokenCorpus& corpus_;
  const std::uint64_t length_;
  std::vector<std::uint64_t> before_;  // pieces before each 64th document
  std::uint64_t count_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace d9d
