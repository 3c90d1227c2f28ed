#pragma once
// Writes documents of token ids as Megatron's PREFIX.bin and PREFIX.idx (the mapped layout, version 1).

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/file/npy.hpp"

namespace d9d {

class MegatronWriter {
 public:
  // Writes ids in 2 bytes if `vocab_size` is at most 65536, else in 4. Replaces existing files.
  // Environment error, here and below: a file cannot be written.
  MegatronWriter(std::string prefix, std::int64_t vocab_size);
  // A document without ids is left out.
  void add_document(std::span<const std::int32_t> ids);
  // Writes the index and syncs both files to the disk. Call it once, at the end.
  void finish();

  std::uint64_t num_tokens() const { return num_tokens_; }
  std::uint64_t num_documents() const { return sizes_.size(); }

 private:
  void write_index();

  const std::string prefix_;
  const NpyType type_;
  std::ofstream tokens_;
  std::vector<std::int32_t> sizes_;
  std::vector<std::uint16_t> narrow_;
  std::uint64_t num_tokens_ = 0;
};

}  // namespace d9d
