#pragma once
// Rows as people keep conversations: {messages: [{role, content, ...}]}, ShareGPT's {conversations: [{from, value}]},
// alpaca's {instruction, input, output}, {prompt, completion} of texts or of messages.

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
  std::vector<std::size_t> trained;     // of them those that count in the loss
  RowJson tools, documents, arguments;  // null: none
};

using ChatRow = std::variant<Conversation, TextPair>;

// The keys of rows that are read.
std::vector<std::string> chat_columns(const ChatDataConfig& config);

// What is not read of `row` is added to `unread`. Input errors begin with `where`: a row that is none of these, a message
// without role, or without text where it has no tool calls, an image, a weight other than 0 and 1.
ChatRow read_chat_row(const ChatDataConfig& config, const RowJson& row, const std::string& where,
                      UnreadFields& unread);

// Of a list of messages to go on with: nothing counts.
Conversation read_prompt_messages(const RowJson& messages, const RowJson& row, const std::string& where);

// The text of a content that is one, or a list of parts of text.
std::string text_of_content(const RowJson& content);

}  // namespace d9d
