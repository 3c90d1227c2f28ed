#pragma once
// Reads the documents of text files, in order.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/config/text_data_config.hpp"
#include "runtime/data/file/row_place.hpp"
#include "runtime/data/file/table_files.hpp"

namespace d9d {

// Finds the files of `config.files` with find_data_files().
DataFiles find_files(const TextDataConfig& config);
std::vector<std::string> files_of(const TextDataConfig& config);
// Returns the section with the names of the files found and their format. Calling it again
// finds the same files.
TextDataConfig with_found_files(TextDataConfig config);

struct Document {
  std::string_view text;  // lives only during the call; never empty
  RowPlace place;         // its first line or its row; line 1 if the document is a whole file
  bool is_file = false;
  std::uint64_t bytes_read = 0;  // of all files, up to about the end of this document

  std::string where() const { return is_file ? std::string(place.file) : text_of(place); }  // for errors
};

// Maps one file at a time. Memory holds one row group of a Parquet file, or one document of a
// packed file. A row whose text is null or empty is left out; a file that has only such rows is
// named in a warning.
using UseDocument = std::function<void(const Document&)>;
void for_each_document(const TextDataConfig& config, const UseDocument& use);

}  // namespace d9d
