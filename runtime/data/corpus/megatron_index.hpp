#pragma once
// The .idx file of Megatron's indexed datasets: the range of tokens of the .bin file that each
// document has. Reads both layouts in use: the mapped one ("MMIDIDX", version 1) and the older
// "TNTIDX" (version 1). Little endian. No torch.

#include <cstdint>
#include <filesystem>

#include "runtime/base/file/mapped_file.hpp"
#include "runtime/data/file/npy.hpp"

namespace d9d {

class MegatronIndex {
 public:
  // Reads the header and checks the tables once. `token_bytes` is the length of the .bin file.
  // Input errors name the file: another magic or version, a dtype that is no integer, a length that
  // the header contradicts, documents or tokens out of order, a piece whose size contradicts its
  // offsets, an offset that is not at the begin of a token.
  MegatronIndex(const std::filesystem::path& path, std::uint64_t token_bytes);

  NpyType type() const { return type_; }  // of the tokens
  std::uint64_t num_tokens() const { return num_tokens_; }
  std::uint64_t num_documents() const { return num_boundaries_ - 1; }
  // In tokens; document <= num_documents().
  std::uint64_t begin_of(std::uint64_t document) const;

 private:
  void read_mapped_layout(std::uint64_t token_bytes);
  void read_older_layout();
  void check(std::uint64_t token_bytes);
  void check_piece(std::uint64_t piece) const;
  std::uint64_t size_of(std::uint64_t piece) const;    // in tokens, as the table of sizes has it
  std::uint64_t word(std::uint64_t at) const;          // 8 bytes
  std::uint64_t offset_of(std::uint64_t piece) const;  // in tokens
  void expect_size(std::uint64_t bytes, std::uint64_t or_bytes) const;

  const MappedFile file_;
  NpyType type_ = NpyType::int32;
  std::uint64_t num_pieces_ = 0;  // a document is one or more of them
  std::uint64_t num_boundaries_ = 0;
  std::uint64_t num_tokens_ = 0;
  // Bytes into the file, and what an offset counts in: bytes or tokens.
  std::uint64_t sizes_at_ = 0, size_bytes_ = 0;  // no bytes: the table is not there
  std::uint64_t offsets_at_ = 0;
  std::uint64_t boundaries_at_ = 0;
  std::uint64_t offset_unit_ = 1;
};

}  // namespace d9d
