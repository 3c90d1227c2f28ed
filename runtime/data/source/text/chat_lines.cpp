#include "runtime/data/source/text/chat_lines.hpp"

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

}  // namespace

std::vector<ChatPart> marked_parts(const ChatDataConfig& config, const Conversation& conversation,
                                   const std::string& where) {
  std::vector<ChatPart> parts;
  add_part(parts, config.begin, false);
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    const RowJson& message = conversation.messages[i];
    const auto& role = message["role"].get_ref<const std::string&>();
    const auto markers = config.roles.find(role);
    D9D_REQUIRE(
        markers != config.roles.end(),
        "{}: a message has the role \"{}\", which data.roles lacks; add `{}: {{prefix: ..., suffix: ...}}`",
        where, role, role);
    const auto calls = message.find("tool_calls");
    D9D_REQUIRE(calls == message.end() || calls->is_null() || calls->empty(),
                "{}: a message has tool_calls, which the markers of data.roles cannot write; leave "
                "data.roles out, so that the tokenizer's chat template does, or name one with "
                "data.chat_template",
                where);
    const bool counted = std::ranges::find(conversation.trained, i) != conversation.trained.end();
    add_part(parts, markers->second.prefix, false);
    if (message.contains("content")) add_part(parts, text_of_content(message["content"]), counted);
    add_part(parts, markers->second.suffix, counted);
  }
  return parts;
}

std::vector<ChatPart> marked_parts(const ChatDataConfig& config, const TextPair& pair) {
  std::vector<ChatPart> parts;
  add_part(parts, config.begin, false);
  add_part(parts, pair.prompt, false);
  add_part(parts, pair.completion, true);
  return parts;
}

}  // namespace d9d
