#pragma once
// Packs documents into rows of one length. Each piece (document_pieces.hpp) is whole in one row,
// and a row holds at most `length` inputs. A row is a function of its number, so the position in
// packed data stays a single number: consecutive pieces are grouped until they would fill 32 rows,
// and each group is packed by best fit decreasing (Johnson, "Near-optimal bin packing algorithms",
// MIT 1973). No table of all pieces.

#include "runtime/data/source/document_pieces.hpp"

namespace d9d {

class PackedRows {
 public:
  // No piece may be longer than `length`.
  PackedRows(DocumentPieces pieces, std::uint64_t length);
  std::uint64_t count() const { return count_; }
  // The pieces of a row, in the corpus's order.
  std::vector<DocumentPieces::Piece> at(std::uint64_t row) const;

 private:
  // Consecutive pieces that are packed together.
  struct Group {
    std::uint64_t first_piece = 0, first_row = 0;
  };
  std::vector<DocumentPieces::Piece> pieces_from(std::uint64_t first) const;

  const DocumentPieces pieces_;
  const std::uint64_t length_;
  std::vector<Group> groups_;
  std::uint64_t count_ = 0;
};

}  // namespace d9d
