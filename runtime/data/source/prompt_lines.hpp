#pragma once
// Prompts in files, a line each.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/table/row_json.hpp"

namespace d9d {

struct PromptLine {
  std::string_view text;
  bool is_chat = false;  // written of messages, with all special tokens that belong to it
  const std::string& where;
};
// What writes a list of messages as text; `row` is the object that it stands in.
using WriteMessages =
    std::function<std::string(const RowJson& messages, const RowJson& row, const std::string& where)>;

// Lines that are empty are left out; those of files that end in .jsonl are JSON objects with a text, or a list of messages,
// under `field`, else a list under "messages". `where` is "prompts.txt:12". Input errors: those of for_each_document() and
// of `write`, and a line without such a key.
void for_each_prompt(const std::vector<std::string>& files, const std::string& field,
                     const WriteMessages& write, const std::function<void(const PromptLine&)>& use);
// Of texts alone.
void for_each_prompt(const std::vector<std::string>& files, const std::string& field,
                     const std::function<void(std::string_view prompt, const std::string& where)>& use);

}  // namespace d9d
