#include "runtime/data/corpus/megatron_index.hpp"

#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::string_view mapped_magic{"MMIDIDX\x00\x00", 9};
constexpr std::string_view older_magic{"TNTIDX\x00\x00", 8};
constexpr std::uint64_t known_version = 1;
// Of corpora that fit a disk: sizes computed from larger ones could overflow.
constexpr std::uint64_t count_max = std::uint64_t{1} << 48;

NpyType type_of_code(std::uint64_t code) {
  switch (code) {
    case 1:
      return NpyType::uint8;
    case 2:
      return NpyType::int8;
    case 3:
      return NpyType::int16;
    case 4:
      return NpyType::int32;
    case 5:
      return NpyType::int64;
    case 8:
      return NpyType::uint16;
    default:
      throw Error(ErrorKind::input,
                  fmt::format("dtype code {}, expected one of the integers 1 to 5 or 8 (uint8, int8, int16, "
                              "int32, int64, uint16)",
                              code));
  }
}

void require_version(std::uint64_t version) {
  D9D_REQUIRE(version == known_version, "version {} of the format, expected {}", version, known_version);
}

}  // namespace

MegatronIndex::MegatronIndex(const std::filesystem::path& path, std::uint64_t token_bytes) : file_(path) {
  try {
    if (file_.text().starts_with(mapped_magic)) {
      read_mapped_layout(token_bytes);
    } else {
      D9D_REQUIRE(file_.text().starts_with(older_magic),
                  "not an index of Megatron's datasets (it begins with neither MMIDIDX nor TNTIDX)");
      read_older_layout();
    }
    check(token_bytes);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), path.string());
  }
}

std::uint64_t MegatronIndex::word(std::uint64_t at) const {
  D9D_REQUIRE(at <= file_.bytes().size() && file_.bytes().size() - at >= sizeof(std::uint64_t),
              "the file is cut short");
  std::uint64_t value = 0;
  std::memcpy(&value, file_.bytes().data() + at, sizeof value);
  return value;
}

void MegatronIndex::expect_size(std::uint64_t bytes, std::uint64_t or_bytes) const {
  const std::uint64_t got = file_.bytes().size();
  D9D_REQUIRE(got == bytes || got == or_bytes,
              "its header says {} bytes, it has {}; it is cut short or damaged", bytes, got);
}

// magic, version u64, dtype u8, pieces u64, boundaries u64; then sizes i32 and offsets in bytes i64 of the
// pieces, boundaries i64, and in multimodal sets a mode i8 of each piece.
void MegatronIndex::read_mapped_layout(std::uint64_t token_bytes) {
  const std::uint64_t header = mapped_magic.size() + 8;
  require_version(word(mapped_magic.size()));
  D9D_REQUIRE(file_.bytes().size() > header, "the file is cut short");
  type_ = type_of_code(std::to_integer<std::uint64_t>(file_.bytes()[header]));
  num_pieces_ = word(header + 1);
  num_boundaries_ = word(header + 9);
  D9D_REQUIRE(num_pieces_ < count_max && num_boundaries_ < count_max, "the header is damaged");
  sizes_at_ = header + 17;
  size_bytes_ = 4;
  offsets_at_ = sizes_at_ + 4 * num_pieces_;
  boundaries_at_ = offsets_at_ + 8 * num_pieces_;
  const std::uint64_t end = boundaries_at_ + 8 * num_boundaries_;
  expect_size(end, end + num_pieces_);
  offset_unit_ = bytes_of(type_);
  num_tokens_ = token_bytes / offset_unit_;
}

// magic, version u64, dtype u64, its bytes u64, pieces u64, sizes u64, boundaries u64; then i64: dimension
// offsets (pieces + 1), offsets in tokens (pieces + 1), sizes, boundaries.
void MegatronIndex::read_older_layout() {
  const std::uint64_t header = older_magic.size();
  require_version(word(header));
  type_ = type_of_code(word(header + 8));
  D9D_REQUIRE(word(header + 16) == bytes_of(type_), "{} bytes a token, but its dtype {} has {}",
              word(header + 16), name_of(type_), bytes_of(type_));
  num_pieces_ = word(header + 24);
  const std::uint64_t num_sizes = word(header + 32);
  num_boundaries_ = word(header + 40);
  D9D_REQUIRE(num_pieces_ < count_max && num_sizes < count_max && num_boundaries_ < count_max,
              "the header is damaged");
  offsets_at_ = header + 48 + 8 * (num_pieces_ + 1);
  sizes_at_ = offsets_at_ + 8 * (num_pieces_ + 1);
  // A piece of several dimensions has several sizes.
  if (num_sizes == num_pieces_) size_bytes_ = 8;
  boundaries_at_ = sizes_at_ + 8 * num_sizes;
  const std::uint64_t end = boundaries_at_ + 8 * num_boundaries_;
  expect_size(end, end);
  num_tokens_ = word(offsets_at_ + 8 * num_pieces_);
}

void MegatronIndex::check(std::uint64_t token_bytes) {
  D9D_REQUIRE(num_boundaries_ > 0 && word(boundaries_at_) == 0, "it has no documents");
  D9D_REQUIRE(num_tokens_ * bytes_of(type_) == token_bytes,
              "it belongs to a .bin file of {} tokens of {} bytes, but that has {} bytes", num_tokens_,
              bytes_of(type_), token_bytes);
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < num_pieces_; ++i) {
    const std::uint64_t offset = offset_of(i);
    D9D_REQUIRE(offset >= before && (i > 0 || offset == 0) && offset <= num_tokens_,
                "piece {} begins at token {}, but the one before it at {}: pieces out of their order are not "
                "supported; merge the files anew",
                i, offset, before);
    before = offset;
  }
  for (std::uint64_t i = 0; i < num_pieces_; ++i) check_piece(i);
  before = 0;
  for (std::uint64_t i = 0; i < num_boundaries_; ++i) {
    const std::uint64_t piece = word(boundaries_at_ + 8 * i);
    D9D_REQUIRE(piece >= before && piece <= num_pieces_, "document {} begins with piece {} of {}", i, piece,
                num_pieces_);
    before = piece;
  }
  D9D_REQUIRE(before == num_pieces_, "its documents end with piece {} of {}", before, num_pieces_);
}

std::uint64_t MegatronIndex::size_of(std::uint64_t piece) const {
  if (size_bytes_ == 8) return word(sizes_at_ + 8 * piece);
  std::int32_t size = 0;  // the file has these bytes: its length was looked at
  std::memcpy(&size, file_.bytes().data() + sizes_at_ + 4 * piece, sizeof size);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(size));
}

void MegatronIndex::check_piece(std::uint64_t piece) const {
  D9D_REQUIRE(
      word(offsets_at_ + 8 * piece) % offset_unit_ == 0,
      "piece {} begins at byte {}, within a token of {} bytes; it is damaged, or of another .bin file", piece,
      word(offsets_at_ + 8 * piece), offset_unit_);
  if (size_bytes_ == 0) return;
  const std::uint64_t given = size_of(piece);
  const std::uint64_t between = offset_of(piece + 1) - offset_of(piece);
  D9D_REQUIRE(given == between,
              "piece {} has {} tokens by its size and {} by its offsets; the index is damaged, or its pieces "
              "overlap: merge the files anew",
              piece, static_cast<std::int64_t>(given), between);
}

std::uint64_t MegatronIndex::offset_of(std::uint64_t piece) const {
  return piece == num_pieces_ ? num_tokens_ : word(offsets_at_ + 8 * piece) / offset_unit_;
}

std::uint64_t MegatronIndex::begin_of(std::uint64_t document) const {
  D9D_CHECK(document < num_boundaries_, "document {} of {}", document, num_documents());
  return offset_of(word(boundaries_at_ + 8 * document));
}

}  // namespace d9d
