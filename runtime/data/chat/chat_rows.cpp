#include "runtime/data/chat/chat_rows.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

constexpr std::array<const char*, 4> beside_messages{"system", "tools", "documents", "chat_template_kwargs"};

const RowJson* value_at(const RowJson& object, const std::string& key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && !found->is_null() ? &*found : nullptr;
}

std::string keys_in(const RowJson& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(fmt::format("\"{}\"", key));
  return keys.empty() ? "no keys" : fmt::format("the keys {}", fmt::join(keys, ", "));
}

const std::string& text_at(const RowJson& object, const std::string& key, const std::string& where) {
  const RowJson* found = value_at(object, key);
  D9D_REQUIRE(found, "{}: no text under \"{}\": {}", where, key,
              object.is_object() ? "it has " + keys_in(object) : fmt::format("it is {}", object.type_name()));
  D9D_REQUIRE(found->is_string(), "{}: no text under \"{}\": it is {}", where, key, found->type_name());
  return found->get_ref<const std::string&>();
}

// ShareGPT's words for roles; a role that the job's markers name keeps its own.
std::string role_of(const std::string& raw, const ChatDataConfig& config) {
  static const std::map<std::string, std::string> words{
      {"human", "user"}, {"gpt", "assistant"}, {"function_call", "assistant"}, {"observation", "tool"}};
  const auto known = words.find(raw);
  return known == words.end() || config.roles.contains(raw) ? raw : known->second;
}

bool is_trained_role(const std::string& raw, const std::string& role, const ChatDataConfig& config) {
  const auto named = [&](const std::string& name) {
    return std::ranges::find(config.trained_roles, name) != config.trained_roles.end();
  };
  return named(raw) || named(role);
}

// ShareGPT's function_call: a JSON text of {name, arguments}, or of a list of them.
RowJson tool_calls_in(const std::string& text, const std::string& where) {
  RowJson calls = try_parse_json<RowJson>(text);
  if (calls.is_object()) calls = RowJson::array({calls});
  D9D_REQUIRE(calls.is_array(),
              "{}: the value of a function_call is no JSON: {{\"name\": ..., \"arguments\": ...}}", where);
  RowJson out = RowJson::array();
  for (const RowJson& call : calls) out.push_back({{"type", "function"}, {"function", call}});
  return out;
}

void check_content(const RowJson& message, const RowJson* content, const std::string& key,
                   const std::string& where) {
  if (content == nullptr) {
    const bool speaks = value_at(message, "tool_calls") || value_at(message, "reasoning_content") ||
                        value_at(message, "thinking") || value_at(message, "reasoning");
    D9D_REQUIRE(speaks, "{}: no text under \"{}\" of a message: {}", where, key,
                message.contains(key) ? "it is null, and the message has no tool_calls"
                                      : "the message has " + keys_in(message));
    return;
  }
  if (content->is_string()) return;
  D9D_REQUIRE(content->is_array(),
              "{}: no text under \"{}\" of a message: it is {}; expected a text or a list of parts", where,
              key, content->type_name());
  for (const RowJson& part : *content) {
    const RowJson* type = value_at(part, "type");
    const std::string kind = type != nullptr && type->is_string() ? type->get<std::string>() : "";
    D9D_REQUIRE(kind == "text" && value_at(part, "text") && part["text"].is_string(),
                "{}: \"{}\" has a part of type \"{}\"; only parts {{\"type\": \"text\", \"text\": ...}} can "
                "be read, so take it away or leave the row out",
                where, key, kind);
  }
}

// Whether the row says that a message counts; nothing: it does not say.
std::optional<bool> said_of_weight(RowJson& message, const std::string& where) {
  std::optional<bool> counts;
  if (const RowJson* weight = value_at(message, "weight")) {
    const bool fits = weight->is_number() && (*weight == 0 || *weight == 1);
    D9D_REQUIRE(fits, "{}: the weight of a message is {}; give 0 or 1", where, weight->dump());
    counts = *weight == 1;
  }
  if (const RowJson* train = value_at(message, "train")) {
    D9D_REQUIRE(train->is_boolean(), "{}: \"train\" of a message is {}; give true or false", where,
                train->dump());
    counts = counts.value_or(true) && train->get<bool>();
  }
  message.erase("weight");
  message.erase("train");
  return counts;
}

class Reader {
 public:
  Reader(const ChatDataConfig& config, const RowJson& row, const std::string& where)
      : config_(config), row_(row), where_(where) {}

  Conversation conversation;

  void add_messages(const RowJson& messages, bool can_count) {
    D9D_REQUIRE(!messages.empty(), "{}: an empty list of messages; leave the row out", where_);
    for (const RowJson& message : messages) add_message(message, can_count);
  }

  void add_text(const char* role, const std::string& text) {
    add_message({{config_.role_field, role}, {config_.content_field, text}}, true);
  }

  // What stands beside the messages; before finish().
  void add_row() {
    conversation.tools = list_at("tools");
    conversation.documents = list_at("documents");
    if (const RowJson* arguments = value_at(row_, "chat_template_kwargs")) {
      D9D_REQUIRE(arguments->is_object(), "{}: \"chat_template_kwargs\" is no object", where_);
      conversation.arguments = *arguments;
    }
  }

  void add_system() {
    const RowJson* system = value_at(row_, "system");
    if (system == nullptr) return;
    D9D_REQUIRE(system->is_string(), "{}: \"system\" is {}; expected a text", where_, system->type_name());
    if (!system->get_ref<const std::string&>().empty()) add_text("system", *system);
  }

  void finish() {
    std::size_t systems = 0;
    for (const RowJson& message : conversation.messages) systems += message["role"] == "system" ? 1 : 0;
    D9D_REQUIRE(systems < 2 || !value_at(row_, "system") || row_["system"] == "",
                "{}: a text under \"system\" and a message of the role system; keep one of them", where_);
    if (config_.loss == ChatLoss::last_answer && !conversation.answers.empty()) {
      const std::size_t last = conversation.answers.back();
      std::erase_if(conversation.trained, [&](std::size_t i) { return i != last; });
    }
  }

 private:
  RowJson list_at(const char* key) const {
    const RowJson* found = value_at(row_, key);
    if (found == nullptr || *found == "") return nullptr;
    const RowJson list = found->is_string() ? try_parse_json<RowJson>(found->get<std::string>()) : *found;
    const bool is_unused = !config_.roles.empty();  // markers of roles write neither
    D9D_REQUIRE(list.is_array() || is_unused, "{}: \"{}\" is neither a list nor the JSON text of one", where_,
                key);
    return !list.is_array() || list.empty() ? RowJson(nullptr) : list;
  }

  void add_message(const RowJson& given, bool can_count) {
    D9D_REQUIRE(given.is_object(), "{}: a message is {}; expected an object with a role and a content",
                where_, given.type_name());
    RowJson message = given;
    const auto key_of = [&](const std::string& wanted, const char* of_sharegpt) {
      return message.contains(wanted) || !message.contains(of_sharegpt) ? wanted : std::string(of_sharegpt);
    };
    const std::string role_key = key_of(config_.role_field, "from");
    const std::string content_key = key_of(config_.content_field, "value");
    const std::string raw = text_at(message, role_key, where_);
    const std::string role = role_of(raw, config_);
    if (raw == "function_call" && role != raw && value_at(message, content_key)) {
      message["tool_calls"] = tool_calls_in(text_at(message, content_key, where_), where_);
      message[content_key] = "";
    }
    const RowJson* content = value_at(message, content_key);
    check_content(message, content, content_key, where_);
    const std::optional<bool> said = said_of_weight(message, where_);
    RowJson out = RowJson::object();  // in the row's order, which a template may write
    for (const auto& [key, value] : message.items()) {
      if (key == role_key) {
        out["role"] = role;
      } else if (key == content_key) {
        out["content"] = value;
      } else if (!out.contains(key)) {
        out[key] = value;
      }
    }
    if (can_count && is_trained_role(raw, role, config_)) {
      conversation.answers.push_back(conversation.messages.size());
      if (said.value_or(true)) conversation.trained.push_back(conversation.messages.size());
    }
    conversation.messages.push_back(std::move(out));
  }

  const ChatDataConfig& config_;
  const RowJson& row_;
  const std::string& where_;
};

const RowJson* messages_of(const ChatDataConfig& config, const RowJson& row, std::set<std::string>& read) {
  for (const std::string& key : {config.messages_field, std::string("conversations")}) {
    const RowJson* found = value_at(row, key);
    if (found == nullptr || !found->is_array()) continue;
    read.insert(key);
    return found;
  }
  return nullptr;
}

bool are_texts(const RowJson* prompt, const RowJson* completion) {
  return prompt != nullptr && completion != nullptr && !prompt->is_array() && !completion->is_array();
}

std::string first_of(const RowJson& row, std::initializer_list<const char*> keys, std::set<std::string>& read,
                     const std::string& where) {
  for (const char* key : keys) {
    if (value_at(row, key) == nullptr) continue;
    read.insert(key);
    return text_at(row, key, where);
  }
  return {};
}

// alpaca's, and Dolly's {instruction, context, response}.
bool is_instruction(const RowJson& row) {
  return value_at(row, "instruction") && (value_at(row, "output") || value_at(row, "response"));
}

void read_instruction(Reader& reader, const RowJson& row, const std::string& where,
                      std::set<std::string>& read) {
  reader.add_system();
  read.insert("history");
  if (const RowJson* history = value_at(row, "history")) {
    for (const RowJson& turn : *history) {
      D9D_REQUIRE(turn.is_array() && turn.size() == 2 && turn[0].is_string() && turn[1].is_string(),
                  "{}: \"history\" is no list of pairs of texts", where);
      reader.add_text("user", turn[0]);
      reader.add_text("assistant", turn[1]);
    }
  }
  const std::string instruction = first_of(row, {"instruction"}, read, where);
  const std::string input = first_of(row, {"input", "context"}, read, where);
  reader.add_text("user",
                  input.empty() || instruction.empty() ? instruction + input : instruction + "\n" + input);
  reader.add_text("assistant", first_of(row, {"output", "response"}, read, where));
}

}  // namespace

std::vector<std::string> chat_columns(const ChatDataConfig& config) {
  std::vector<std::string> columns{config.messages_field};
  for (const char* key : {"messages", "conversations", "prompt", "completion", "instruction", "input",
                          "context", "output", "response", "history"}) {
    if (key != config.messages_field) columns.emplace_back(key);
  }
  columns.insert(columns.end(), beside_messages.begin(), beside_messages.end());
  return columns;
}

bool is_text_pair(const ChatDataConfig& config, const RowJson& row) {
  std::set<std::string> read;
  return messages_of(config, row, read) == nullptr &&
         are_texts(value_at(row, "prompt"), value_at(row, "completion"));
}

ChatRow read_chat_row(const ChatDataConfig& config, const RowJson& row, const std::string& where,
                      UnreadFields& unread) {
  std::set<std::string> read;
  const auto note_unread = [&] {
    for (const auto& [key, value] : row.items())
      if (!read.contains(key) && !value.is_null()) unread.add_of_row(key);
  };
  Reader reader(config, row, where);
  const RowJson* prompt = value_at(row, "prompt");
  const RowJson* completion = value_at(row, "completion");
  if (const RowJson* messages = messages_of(config, row, read)) {
    reader.add_system();
    reader.add_messages(*messages, true);
  } else if (prompt && completion) {
    read.insert({"prompt", "completion"});
    if (are_texts(prompt, completion)) {
      note_unread();
      return TextPair{text_at(row, "prompt", where), text_at(row, "completion", where)};
    }
    D9D_REQUIRE(prompt->is_array() && completion->is_array(),
                "{}: of \"prompt\" and \"completion\" one is a list of messages, the other is {}; give two "
                "texts or two lists",
                where, (prompt->is_array() ? completion : prompt)->type_name());
    reader.add_system();
    reader.add_messages(*prompt, false);
    reader.add_messages(*completion, true);
  } else {
    D9D_REQUIRE(is_instruction(row),
                "{}: neither a list under \"{}\" nor texts under \"prompt\" and \"completion\", or under "
                "\"instruction\" "
                "and \"output\"; the row has {}; name the key of the messages with data.messages_field",
                where, config.messages_field, keys_in(row));
    read_instruction(reader, row, where, read);
  }
  reader.add_row();
  reader.finish();
  read.insert(beside_messages.begin(), beside_messages.end());
  note_unread();
  return std::move(reader.conversation);
}

Conversation read_prompt_messages(const RowJson& messages, const RowJson& row, const std::string& where) {
  const ChatDataConfig usual;
  Reader reader(usual, row, where);
  reader.add_system();
  reader.add_messages(messages, false);
  reader.add_row();
  reader.finish();
  return std::move(reader.conversation);
}

std::string text_of_content(const RowJson& content) {
  if (content.is_null()) return {};
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  for (const RowJson& part : content) text += part["text"].get<std::string>();
  return text;
}

}  // namespace d9d
