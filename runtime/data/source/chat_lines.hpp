#pragma once
// A row of chat data as text with markers, in parts that count in the loss and parts that do not. The parts
// are tokenised apart: a model that is asked sees a prompt without its answer, so there the tokens end, too.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/data/chat_data_config.hpp"

namespace d9d {

struct ChatPart {
  std::string text;      // never empty
  bool counted = false;  // another than the parts beside it
  bool operator==(const ChatPart&) const = default;
};

// `row` is an object (chat_data_config.hpp); input errors begin with `where`.
std::vector<ChatPart> chat_parts(const ChatDataConfig& config, const nlohmann::json& row,
                                 const std::string& where);

}  // namespace d9d
