#pragma once
// Which files a name in `data.files` stands for.

#include <string>
#include <vector>

namespace d9d {

// Names with * ? or [ become what they match, sorted. A folder becomes its files with the ending of the format
// ("parquet", "arrow", "jsonl"), sorted; one that `datasets` wrote (save_to_disk) those of its state.json, in
// that order. Input errors: a name or pattern without a file, a folder without such files, a folder of several
// splits (dataset_dict.json), of which one has to be named.
std::vector<std::string> expand_files(const std::vector<std::string>& files, const std::string& ending = {});

}  // namespace d9d
