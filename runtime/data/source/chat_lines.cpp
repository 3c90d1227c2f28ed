#include "runtime/data/source/chat_lines.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

void add_part(std::vector<ChatPart>& parts, const std::string& text, bool counted) {
  if (text.empty()) return;
  if (!parts.empty() && parts.back().counted == counted) {
    parts.back().text += text;
  } else {
    parts.push_back({text, counted});
  }
}

const std::string& text_at(const nlohmann::json& object, const std::string& key, const std::string& where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  D9D_REQUIRE(object.is_object() && found != object.end() && found->is_string(), "{}: no text under \"{}\"",
              where, key);
  return found->get_ref<const std::string&>();
}

void add_message(std::vector<ChatPart>& parts, const ChatDataConfig& config, const nlohmann::json& message,
                 const std::string& where) {
  const std::string& role = text_at(message, config.role_field, where);
  const auto markers = config.roles.find(role);
  D9D_REQUIRE(
      markers != config.roles.end(),
      "{}: a message has the role \"{}\", which data.roles lacks; add `{}: {{prefix: ..., suffix: ...}}`",
      where, role, role);
  const bool counted = std::ranges::find(config.trained_roles, role) != config.trained_roles.end();
  add_part(parts, markers->second.prefix, false);
  add_part(parts, text_at(message, config.content_field, where), counted);
  add_part(parts, markers->second.suffix, counted);
}

}  // namespace

std::vector<ChatPart> chat_parts(const ChatDataConfig& config, const nlohmann::json& row,
                                 const std::string& where) {
  std::vector<ChatPart> parts;
  add_part(parts, config.begin, false);
  const auto messages = row.find(config.messages_field);
  if (messages != row.end() && messages->is_array()) {
    for (const nlohmann::json& message : *messages) add_message(parts, config, message, where);
    return parts;
  }
  D9D_REQUIRE(
      row.contains("prompt") && row.contains("completion"),
      "{}: neither a list under \"{}\" nor texts under \"prompt\" and \"completion\"; name the key of "
      "the messages with data.messages_field",
      where, config.messages_field);
  add_part(parts, text_at(row, "prompt", where), false);
  add_part(parts, text_at(row, "completion", where), true);
  return parts;
}

}  // namespace d9d
