#pragma once
// Keys that sources with conversations share.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/base/config/codec_maps.hpp"
#include "runtime/base/config/keys.hpp"

namespace d9d {

// The keys that choose the chat template of a section.
struct TemplateUse {
  std::string tokenizer;
  std::optional<std::string> chat_template;
  std::map<std::string, nlohmann::json> arguments;
  std::optional<std::string> date;
  std::optional<std::string> tools;
  bool today = false;  // without `date`: true gives today's, false refuses a template that asks for it
};

namespace data_keys {
inline constexpr config::Key chat_template{"chat_template", "",
                                           "the Jinja template that writes a conversation as text: a file, "
                                           "or the name of one beside the tokenizer (such as "
                                           "tool_use); null: the tokenizer's own (chat_template.jinja, "
                                           "additional_chat_templates/, tokenizer_config.json)"};
inline constexpr config::Key template_arguments{
    "template_arguments", "", "what the template asks for besides the row, as in {enable_thinking: false}"};
inline constexpr config::Key template_date{"template_date", "",
                                           "the date YYYY-MM-DD that a template gets which asks for today's, "
                                           "so that a run that goes on sees the same texts"};
inline constexpr config::Key tools{
    "tools", "", "a JSON file with a list of tools, for rows that have none of their own under \"tools\""};
}  // namespace data_keys

}  // namespace d9d
