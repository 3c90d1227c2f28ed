#pragma once
// Reads prompts from files: one in each line or row.

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
  bool is_chat = false;  // made of messages; its text has all special tokens already
};
using UsePromptLine = std::function<void(const PromptLine&)>;
// Writes a list of messages as text. `row` is the object that holds the list.
using WriteMessages =
    std::function<std::string(const RowJson& messages, const RowJson& row, const std::string& where)>;

// Reads the prompts of files. Empty lines are skipped. In files whose ending is one of rows
// (format_of_ending()), a row has a text or a list of messages under `field`, else a list
// under "messages". Input errors: those of for_each_document() and of `write`, and a row
// without such a key.
void for_each_prompt(const std::vector<std::string>& files, const std::string& field,
                     const WriteMessages& write, const UsePromptLine& use);
// The same for prompts that are texts, with the place of each.
using UsePlacedPrompt = std::function<void(std::string_view prompt, const RowPlace& place)>;
void for_each_placed_prompt(const std::vector<std::string>& files, const std::string& field,
                            const UsePlacedPrompt& use);
// The same with the place as text: "prompts.txt:12".
using UsePrompt = std::function<void(std::string_view prompt, const std::string& where)>;
void for_each_prompt(const std::vector<std::string>& files, const std::string& field, const UsePrompt& use);

}  // namespace d9d
