#include "runtime/data/source/packed_rows.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using Piece = DocumentPieces::Piece;
using Row = std::vector<std::size_t>;  // numbers of pieces

constexpr std::uint64_t rows_at_once = 32;    // of which the last one is filled badly
constexpr std::size_t pieces_at_once = 8192;  // a row is asked for by packing all of them

// The longest first, each into the fullest row that has room.
// Equal ones in their order, so that the result is the same everywhere.
std::vector<Row> pack(const std::vector<Piece>& pieces, std::uint64_t length) {
  Row order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return pieces[i].tokens; });
  std::vector<Row> rows;
  std::set<std::pair<std::uint64_t, std::size_t>> rooms;  // free tokens, row
  for (const std::size_t i : order) {
    const std::uint64_t tokens = pieces[i].tokens;
    auto room = rooms.lower_bound({tokens, 0});
    if (room == rooms.end()) {
      rows.emplace_back();
      room = rooms.insert({length, rows.size() - 1}).first;
    }
    const auto [free, row] = *room;
    rooms.erase(room);
    rooms.insert({free - tokens, row});
    rows[row].push_back(i);
  }
  for (Row& row : rows) std::ranges::sort(row);
  std::ranges::sort(rows);
  return rows;
}

}  // namespace

PackedRows::PackedRows(DocumentPieces pieces, std::uint64_t length)
    : pieces_(std::move(pieces)), length_(length) {
  for (std::uint64_t first = 0; first < pieces_.count();) {
    groups_.push_back({first, count_});
    const std::vector<Piece> together = pieces_from(first);
    count_ += pack(together, length).size();
    first += together.size();
  }
}

std::vector<Piece> PackedRows::pieces_from(std::uint64_t first) const {
  std::vector<Piece> pieces;
  std::uint64_t tokens = 0;
  pieces_.from(first, [&](const Piece& piece) {
    pieces.push_back(piece);
    tokens += piece.tokens;
    return tokens < rows_at_once * length_ && pieces.size() < pieces_at_once;
  });
  return pieces;
}

std::vector<Piece> PackedRows::at(std::uint64_t row) const {
  D9D_CHECK(row < count_, "row {} of {}", row, count_);
  const auto group = std::prev(std::ranges::upper_bound(groups_, row, {}, &Group::first_row));
  const std::vector<Piece> together = pieces_from(group->first_piece);
  const std::vector<Row> rows = pack(together, length_);
  std::vector<Piece> found;
  for (const std::size_t i : rows[row - group->first_row]) found.push_back(together[i]);
  return found;
}

}  // namespace d9d
