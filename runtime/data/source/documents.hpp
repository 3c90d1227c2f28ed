#pragma once
// The documents in files of text, in order.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/data_config.hpp"

namespace d9d {

// Names with * ? or [ become the files they match, sorted;
// a name or pattern without a file is an input error.
std::vector<std::string> expand_files(const std::vector<std::string>& files);

// Called with every document that is not empty and where it is ("notes.txt", "notes.jsonl:12"). The text
// lives only during the call. One file is mapped at a time.
using UseDocument = std::function<void(std::string_view text, const std::string& where)>;
void for_each_document(const TextDataConfig& config, const UseDocument& use);

}  // namespace d9d
