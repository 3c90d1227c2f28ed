#pragma once
// Writes a conversation as text with markers of roles, in parts that count in the loss and
// parts that do not.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/data/chat/chat_rows.hpp"
#include "runtime/data/config/chat_data_config.hpp"

namespace d9d {

struct ChatPart {
  std::string text;      // never empty
  bool counted = false;  // in the loss; differs from that of the parts before and after
  bool operator==(const ChatPart&) const = default;
};

// Writes a row that was read. Input errors: a role without markers; tool calls,
// which markers cannot write.
std::vector<ChatPart> marked_parts(const ChatDataConfig& config, const Conversation& conversation,
                                   const std::string& where);
std::vector<ChatPart> marked_parts(const ChatDataConfig& config, const TextPair& pair);

}  // namespace d9d
