#pragma once
// Stores from which row of which file each document of Megatron's files was made: PREFIX.rows, in
// the folder of PREFIX.bin, has a record for each stretch of consecutive rows. It refers to files
// by number, since they may be renamed later.

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/corpus/token_corpus.hpp"

namespace d9d {

class RowFilesWriter {
 public:
  // `files`: those that places name. Errors as MegatronWriter.
  RowFilesWriter(const std::string& prefix, std::vector<std::string> files);
  // Adds the place of the next document.
  void add(const RowPlace& place);
  void finish();  // call it once, at the end

 private:
  const std::string path_;
  const std::vector<std::string> files_;
  std::ofstream out_;
  std::uint64_t count_ = 0;
  std::uint32_t file_ = 0;
  RowPlace next_{};  // the place that would extend the last stretch
};

// Adds the places of documents to `tokens`, the corpus of PREFIX.bin. `files` are the names of its
// files today. Ids are compared with `ids_below`, and errors name their rows. Without PREFIX.rows
// no place is known. Input error: PREFIX.rows is damaged.
std::shared_ptr<const TokenCorpus> with_rows(std::shared_ptr<const TokenCorpus> tokens,
                                             const std::string& prefix, std::vector<std::string> files,
                                             std::optional<std::int64_t> ids_below);

}  // namespace d9d
