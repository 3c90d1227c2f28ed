#pragma once
// The documents in files of text, in order.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/text_data_config.hpp"

namespace d9d {

// The files of `config.files`: expand_files().
std::vector<std::string> files_of(const TextDataConfig& config);

struct Document {
  std::string_view text;         // lives only during the call; never empty
  std::string where;             // "notes.txt", "notes.jsonl:12", "notes.parquet, row 11"
  std::uint64_t bytes_read = 0;  // of all files, up to about its end
};

// One file is mapped at a time; of Parquet a row group is in memory.
using UseDocument = std::function<void(const Document&)>;
void for_each_document(const TextDataConfig& config, const UseDocument& use);

}  // namespace d9d
