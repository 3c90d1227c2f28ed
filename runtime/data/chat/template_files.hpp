#pragma once
// Finds the chat template in a tokenizer's folder, and the special tokens that
// the template may name.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace d9d {

struct ChatTemplate {
  std::map<std::string, std::string> texts;  // by name; one at least
  std::optional<std::string> choice;         // a name; nothing: "default", or "tool_use" for rows with tools
  std::string where;                         // the file, for errors
  nlohmann::json special_tokens = nlohmann::json::object();  // bos_token, eos_token, ...: their texts
};

// Looks in the order of transformers: chat_template.jinja and additional_chat_templates/*.jinja in
// the folder of `tokenizer`, then chat_template in tokenizer_config.json (a text, or a list of
// named ones), then chat_template.json. `wanted` is the name of one of them, else a file.
// Returns nothing if there is no template and none is wanted. Input errors: no template of the
// wanted name, a file that cannot be read.
std::optional<ChatTemplate> find_chat_template(const std::string& tokenizer,
                                               const std::optional<std::string>& wanted);

}  // namespace d9d
