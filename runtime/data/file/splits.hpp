#pragma once
// Which split of a data set a file is of, by the names of files and folders.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

inline constexpr const char* all_splits = "all";

// What a folder or pattern stands for, before splits are told apart.
struct Found {
  std::string path;
  std::string name;  // what follows the folder's or pattern's own name
};

// "d/train-00000-of-00001.parquet" -> "train"; "train", "test" or "validation" for the words that people have for them;
// the last name counts most. Nothing where none tells it.
std::optional<std::string> split_of_name(std::string_view name);

struct SplitWish {
  std::optional<std::string> split;
  std::string name;      // of the folder or pattern, for errors
  bool is_text = false;  // plain text, of which several splits are a warning only
};
// Those of the wanted split; all where their names tell one at most. Input errors: no file of that split, or files of
// several splits where no split is wanted.
std::vector<Found> of_split(std::vector<Found> found, const SplitWish& wish);

std::string lower_case(std::string_view text);
std::string names_of(const std::vector<std::string>& names);  // the first few

}  // namespace d9d
