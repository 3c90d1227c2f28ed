#pragma once
// Prompts in files, a line or a row each.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/file/row_json.hpp"
#include "runtime/data/file/row_place.hpp"

namespace d9d {

struct PromptLine {
  std::string_view text;
  RowPlace place;
  bool is_chat = false;  // written of messages, with all special tokens that belong to it
};
using UsePromptLine = std::function<void(const PromptLine&)>;
// What writes a list of messages as text; `row` is the object that it stands in.
using WriteMessages =
    std::function<std::string(const RowJson& messages, const RowJson& row, const std::string& where)>;

// Lines that are empty are left out; the rows of files whose ending is one of rows (format_of_ending()) have a text or a list
// of messages under `field`, else a list under "messages". Input errors: those of for_each_document() and of `write`, and a
// row without such a key.
void for_each_prompt(const std::vector<std::string>& files, const std::string& field,
                     const WriteMessages& write, const UsePromptLine& use);
// Of texts alone, with the place of each.
using UsePlacedPrompt = std::function<void(std::string_view prompt, const RowPlace& place)>;
void for_each_placed_prompt(const std::vector<std::string>& files, const std::string& field,
                            const UsePlacedPrompt& use);
// The same; `where` is "prompts.txt:12".
using UsePrompt = std::function<void(std::string_view prompt, const std::string& where)>;
void for_each_prompt(const std::vector<std::string>& files, const std::string& field, const UsePrompt& use);

}  // namespace d9d
