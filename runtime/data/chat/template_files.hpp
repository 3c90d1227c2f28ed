#pragma once
// The chat template that stands beside a tokenizer, and what it knows of the tokenizer's special tokens.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace d9d {

struct ChatTemplate {
  std::map<std::string, std::string> texts;  // by name; one at least
  std::optional<std::string> choice;  // of a name; nothing: "default", or "tool_use" for rows with tools
  std::string where;                  // the file, for errors
  nlohmann::json special_tokens = nlohmann::json::object();  // bos_token, eos_token, ...: their texts
};

// Looked for as transformers does: chat_template.jinja and additional_chat_templates/*.jinja of the folder of
// `tokenizer`, else chat_template in tokenizer_config.json (a text, or a list of named ones), else in chat_template.json.
// `wanted`: the name of one of them, else a file. Nothing: there is none, and none is wanted. Input errors: none of this
// name, files that cannot be read.
std::optional<ChatTemplate> find_chat_template(const std::string& tokenizer,
                                               const std::optional<std::string>& wanted);

}  // namespace d9d
