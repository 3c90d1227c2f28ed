#pragma once
// Documents packed into rows of one length: each piece (document_pieces.hpp) is in one row, whole, and no row
// holds more than `length` inputs. Rows are a function of their number, so the position in packed data stays
// one number: consecutive pieces are taken together until they would fill 32 rows, and these are packed by
// best fit decreasing (Johnson, "Near-optimal bin packing algorithms", MIT 1973). No table of all pieces.

#include "runtime/data/source/document_pieces.hpp"

namespace d9d {

class PackedRows {
 public:
  // `pieces` are at most `length` long.
  PackedRows(DocumentPieces pieces, std::uint64_t length);
  std::uint64_t count() const { return count_; }
  // The pieces of a row, in the corpus's order.
  std::vector<DocumentPieces::Piece> at(std::uint64_t row) const;

 private:
  // Pieces that are packed together.
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
