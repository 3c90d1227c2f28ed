#pragma once
// In which row of which file each document of Megatron's files was: PREFIX.rows, a record for each stretch of rows that
// follow each other. It stands beside PREFIX.bin and says the number of a file, since files may be called otherwise later.

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
  // Of the next document.
  void add(const RowPlace& place);
  void finish();  // call it once, at the end

 private:
  const std::string path_;
  const std::vector<std::string> files_;
  std::ofstream out_;
  std::uint64_t count_ = 0;
  std::uint32_t file_ = 0;
  RowPlace next_{};  // the place that goes on with the last stretch
};

// The corpus of PREFIX.bin, whose documents are in these files today; its ids are held against `ids_below` and named by
// their rows. Without PREFIX.rows no place is known. Input error for a file that is damaged.
std::shared_ptr<const TokenCorpus> with_rows(std::shared_ptr<const TokenCorpus> tokens,
                                             const std::string& prefix, std::vector<std::string> files,
                                             std::optional<std::int64_t> ids_below);

}  // namespace d9d
