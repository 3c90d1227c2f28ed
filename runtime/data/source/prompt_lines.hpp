#pragma once
// Prompts in files, a line each.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace d9d {

// Lines that are empty are left out; those of files that end in .jsonl are JSON objects with a text under `field`.
// `where` is "prompts.txt:12". Input errors: those of for_each_document(), and a line without such a text.
void for_each_prompt(const std::vector<std::string>& files, const std::string& field,
                     const std::function<void(std::string_view prompt, const std::string& where)>& use);

}  // namespace d9d
