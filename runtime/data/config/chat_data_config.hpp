#pragma once
// The keys of `data` with `source: chat`.

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/data/config/row_format.hpp"
#include "runtime/data/config/sample_unit.hpp"
#include "runtime/data/config/template_keys.hpp"

namespace d9d {

// The markers of a role.
struct RoleMarkers {
  std::string prefix;
  std::string suffix;
};
BOOST_DESCRIBE_STRUCT(RoleMarkers, (), (prefix, suffix))
constexpr auto keys_of(config::Tag<RoleMarkers>) {
  return std::array{config::Key{"prefix", "", "text before a message of the role"},
                    config::Key{"suffix", "", "text after it; it counts in the loss where the message does"}};
}

enum class ChatLoss { all, last_answer };
BOOST_DESCRIBE_ENUM(ChatLoss, all, last_answer)

struct ChatKeys {
  std::vector<std::string> files;
  std::string tokenizer;  // empty in the file: that of the model's folder
  std::int64_t sequence_length = 0;
  std::optional<RowFormat> format;
  std::map<std::string, RoleMarkers> roles;
  std::vector<std::string> trained_roles{"assistant"};
  ChatLoss loss = ChatLoss::all;
  std::optional<std::string> chat_template;
  std::map<std::string, nlohmann::json> template_arguments;
  std::optional<std::string> template_date;
  std::optional<std::string> tools;
  std::string begin;
  std::string messages_field = "messages";
  std::string role_field = "role";
  std::string content_field = "content";
  std::optional<std::string> eos_token;
};
BOOST_DESCRIBE_STRUCT(ChatKeys, (),
                      (files, tokenizer, sequence_length, format, roles, trained_roles, loss, chat_template,
                       template_arguments, template_date, tools, begin, messages_field, role_field,
                       content_field, eos_token))
constexpr auto keys_of(config::Tag<ChatKeys>) {
  using config::Key;
  return std::array{
      Key{"files", "",
          "files, patterns or folders of rows: {messages: [{role: ..., content: ...}, ...]} with tools, "
          "documents and system beside them, ShareGPT's {conversations: [{from: ..., value: ...}]}, alpaca's "
          "{instruction: ..., input: ..., output: ...}, or {prompt: ..., completion: ...}, two lists of "
          "messages or two texts without markers, of which the completion counts in the loss",
          config::required},
      Key{"tokenizer", "",
          "a tokenizer.json or .model, or its folder; left out: that of source_checkpoint, else of "
          "model_provider.from"},
      data_keys::sequence_length,
      Key{"format", "",
          "jsonl: a JSON object a line; json: an array of them; parquet, arrow: as of Hugging Face datasets; "
          "csv, tsv: with a line of names; null: by the endings, else jsonl. Packed as gz, zst, bz2, xz too"},
      Key{"roles", "",
          "the markers of each role in the data, as in {user: {prefix: \"Q: \", suffix: \"\\n\"}, ...}; "
          "left out: the tokenizer's chat template writes the texts"},
      Key{"trained_roles", "",
          "the roles whose messages count in the loss, with their suffixes, unless a message says "
          "weight: 0 or train: false"},
      Key{"loss", "",
          "all: each message of the trained roles counts; last_answer: a conversation's last alone"},
      data_keys::chat_template,
      data_keys::template_arguments,
      data_keys::template_date,
      data_keys::tools,
      Key{"begin", "", "text before every conversation"},
      Key{"messages_field", "", "the key (column) of a row's messages"},
      Key{"role_field", "", "the key of a message's role"},
      Key{"content_field", "", "the key of a message's text"},
      Key{"eos_token", "", "the token put after every conversation; it counts where what is before it does"},
  };
}

struct ChatDataConfig : ChatKeys, DocumentKeys {
  ChatDataConfig() { samples = SampleUnit::packed; }
};
BOOST_DESCRIBE_STRUCT(ChatDataConfig, (ChatKeys, DocumentKeys), ())
constexpr auto keys_of(config::Tag<ChatDataConfig>) {
  return config::join(keys_of(config::Tag<ChatKeys>{}), keys_of(config::Tag<DocumentKeys>{}));
}

}  // namespace d9d
