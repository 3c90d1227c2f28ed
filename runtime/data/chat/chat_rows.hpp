#pragma once
// Reads the usual forms of a conversation: {messages: [{role, content, ...}]}, ShareGPT's
// {conversations: [{from, value}]}, alpaca's {instruction, input, output}, and {prompt, completion}
// of texts or of messages.

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "runtime/data/chat/unread_fields.hpp"
#include "runtime/data/config/chat_data_config.hpp"
#include "runtime/data/file/row_json.hpp"

namespace d9d {

struct TextPair {
  std::string prompt;
  std::string completion;
};

struct Conversation {
  RowJson messages = RowJson::array();  // objects with role and content, and whatever else they have
  std::vector<std::size_t> answers;     // messages of the trained roles
  std::vector<std::size_t> trained;     // the answers that count in the loss
  RowJson tools, documents, arguments;  // null: none
};

using ChatRow = std::variant<Conversation, TextPair>;

// Lists the keys of a row that are read.
std::vector<std::string> chat_columns(const ChatDataConfig& config);

// Whether the row is {prompt, completion} of texts, which no chat template writes.
bool is_text_pair(const ChatDataConfig& config, const RowJson& row);

// Reads one row and adds the keys that it does not read to `unread`. Input errors begin with
// `where`: a row of no known form, a message without role, a message with neither text nor tool
// calls, an image, a weight other than 0 and 1.
ChatRow read_chat_row(const ChatDataConfig& config, const RowJson& row, const std::string& where,
                      UnreadFields& unread);

// Reads a list of messages for the model to continue. No message counts in the loss.
Conversation read_prompt_messages(const RowJson& messages, const RowJson& row, const std::string& where);

// Returns the text of a message's content: a string, or a list of text parts.
std::string text_of_content(const RowJson& content);

}  // namespace d9d
