#pragma once
// Prompts in files, a line or a row each.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/row_place.hpp"

namespace d9d {

// Lines that are empty are left out; the rows of files whose ending is one of rows (format_of_ending()) have a text under
// `field`. `where` is "prompts.txt:12". Input errors: those of for_each_document(), and a row without such a text.
using UsePrompt = std::function<void(std::string_view prompt, const std::string& where)>;
void for_each_prompt(const std::vector<std::string>& files, const std::string& field, const UsePrompt& use);
// The same with the place of each.
using UsePlacedPrompt = std::function<void(std::string_view prompt, const RowPlace& place)>;
void for_each_placed_prompt(const std::vector<std::string>& files, const std::string& field,
                            const UsePlacedPrompt& use);

}  // namespace d9d
