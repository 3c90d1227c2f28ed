#pragma once
// Finds the files that a name in `data.files` stands for.

#include <optional>
#include <string>
#include <vector>

#include "runtime/data/file/file_format.hpp"

namespace d9d {

struct FileWish {
  std::vector<std::string> names;      // files, patterns (name_pattern.hpp), folders
  std::optional<FileFormat> format{};  // nothing: by endings, else by first bytes
  FileFormat otherwise = FileFormat::text;
  std::optional<std::string> split{};  // "train", "test", "validation", another name, or "all"
};
struct DataFiles {
  std::vector<std::string> paths;
  FileFormat format = FileFormat::text;  // of all of them
};

// Finds the files. A folder stands for all files in it and in its sub-folders that have an ending
// of the format, packed or not, sorted. A folder written by `datasets` (save_to_disk) stands for
// the files of its state.json, in that order. Files that `datasets` and Spark leave with the data
// (cache-*.arrow, _SUCCESS, ...) are skipped and logged; hidden files are skipped.
// If a pattern or folder has files of several splits, only those of the wanted split are kept.
// Input errors: a name, pattern or folder without a file; several splits while none is wanted
// (plain text: a warning); a file together with its packed copy; files of several formats; a folder
// of several splits (dataset_dict.json) while none is wanted.
DataFiles find_data_files(const FileWish& wish);

// The same for a format given by its ending ("parquet", "jsonl"). Without an ending a folder is
// returned as it is.
std::vector<std::string> expand_files(const std::vector<std::string>& files, const std::string& ending = {});

}  // namespace d9d
