#pragma once
// The documents in files of text, in order.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/text_data_config.hpp"

namespace d9d {

// Names with * ? or [ become the files they match, sorted;
// a name or pattern without a file is an input error.
std::vector<std::string> expand_files(const std::vector<std::string>& files);

struct Document {
  std::string_view text;         // lives only during the call; never empty
  std::string where;             // "notes.txt", "notes.jsonl:12"
  std::uint64_t bytes_read = 0;  // of all files, up to about its end
};

// One file is mapped at a time.
using UseDocument = std::function<void(const Document&)>;
void for_each_document(const TextDataConfig& config, const UseDocument& use);

}  // namespace d9d
