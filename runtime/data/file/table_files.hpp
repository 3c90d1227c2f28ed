#pragma once
// Which files a name in `data.files` stands for.

#include <optional>
#include <string>
#include <vector>

#include "runtime/data/file/file_format.hpp"

namespace d9d {

struct FileWish {
  std::vector<std::string> names;      // files, patterns (name_pattern.hpp), folders
  std::optional<FileFormat> format{};  // nothing: by endings, and by first bytes where these tell nothing
  FileFormat otherwise = FileFormat::text;
  std::optional<std::string> split{};  // "train", "test", "validation", another name, or "all"
};
struct DataFiles {
  std::vector<std::string> paths;
  FileFormat format = FileFormat::text;  // of all of them
};

// A folder becomes its files, those of folders in it too, with an ending of the format, packed or not, sorted; one that
// `datasets` wrote (save_to_disk) those of its state.json, in that order. Left out, and said, is what `datasets` and
// Spark leave beside data: cache-*.arrow, _SUCCESS and their like; hidden files are left out as well.
// Of files that a pattern or folder names and whose names tell several splits, those of the wanted one.
// Input errors: a name, pattern or folder without a file; several splits and none wanted (plain text: a warning); a file
// beside its packed self; files of several formats; a folder of several splits (dataset_dict.json) and none wanted.
DataFiles find_data_files(const FileWish& wish);

// The same where the format is known by its ending ("parquet", "jsonl"); without one a folder is given back as it is.
std::vector<std::string> expand_files(const std::vector<std::string>& files, const std::string& ending = {});

}  // namespace d9d
