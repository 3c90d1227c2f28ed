#pragma once
// The documents in files of text, in order.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/config/text_data_config.hpp"
#include "runtime/data/file/row_place.hpp"
#include "runtime/data/file/table_files.hpp"

namespace d9d {

// The files of `config.files`: find_data_files().
DataFiles find_files(const TextDataConfig& config);
std::vector<std::string> files_of(const TextDataConfig& config);
// The same section with these files by their names, and their format; finding them again finds the same.
TextDataConfig with_found_files(TextDataConfig config);

struct Document {
  std::string_view text;  // lives only during the call; never empty
  RowPlace place;         // of its first line, its row or, where it is a whole file, line 1
  bool is_file = false;
  std::uint64_t bytes_read = 0;  // of all files, up to about its end

  std::string where() const { return is_file ? std::string(place.file) : text_of(place); }  // for errors
};

// One file is mapped at a time; of Parquet a row group is in memory, of packed files what a document needs. A row whose
// text is null or empty is left out; a file all of whose rows are, is named in a warning.
using UseDocument = std::function<void(const Document&)>;
void for_each_document(const TextDataConfig& config, const UseDocument& use);

}  // namespace d9d
