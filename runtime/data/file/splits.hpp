#pragma once
// Recognises by file and folder names which split of a data set a file belongs to.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

inline constexpr const char* all_splits = "all";

// A file that a folder or pattern stands for, before a split is chosen.
struct Found {
  std::string path;
  std::string name;  // its path without the folder's or pattern's own part
};

// Returns the split that a path names: "d/train-00000-of-00001.parquet" -> "train". The usual words
// become "train", "test" or "validation". The last name of the path that has such a word counts.
// Nothing if none has.
std::optional<std::string> split_of_name(std::string_view name);

struct SplitWish {
  std::optional<std::string> split;
  std::string name;      // of the folder or pattern, for errors
  bool is_text = false;  // plain text, of which several splits are a warning only
};
// Keeps the files of the wanted split; all files if their names show at most one split. Input
// errors: no file of that split, or files of several splits while none is wanted.
std::vector<Found> of_split(std::vector<Found> found, const SplitWish& wish);

std::string lower_case(std::string_view text);
std::string names_of(const std::vector<std::string>& names);  // the first few

}  // namespace d9d
