#include "runtime/data/source/chat_source.hpp"

#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/data/digest.hpp"
#include "runtime/data/source/chat_lines.hpp"
#include "runtime/data/source/records.hpp"
#include "runtime/data/source/tokenized_text.hpp"

namespace d9d {
namespace {

Tokenizer open_tokenizer_of_chat(const ChatDataConfig& config, std::optional<std::int64_t> ids_below) {
  Tokenizer tokenizer = Tokenizer::from_file(config.tokenizer);
  require_ids_below(tokenizer, config.tokenizer, ids_below);
  return tokenizer;
}

std::optional<std::int32_t> eos_of_chat(const ChatDataConfig& config, const Tokenizer& tokenizer) {
  TextDataConfig text;
  text.tokenizer = config.tokenizer;
  text.eos_token = config.eos_token;
  return eos_of(text, tokenizer);
}

struct Conversation {
  std::vector<std::int32_t> ids;
  std::vector<bool> counted;

  void add(std::span<const std::int32_t> more, bool counts) {
    ids.insert(ids.end(), more.begin(), more.end());
    counted.resize(ids.size(), counts);
  }
};

Conversation tokenized(const std::vector<ChatPart>& parts, const Tokenizer& tokenizer,
                       Tokenizer::Scratch& scratch, const std::string& where) {
  Conversation conversation;
  std::vector<std::int32_t> ids;
  for (const ChatPart& part : parts) {
    ids.clear();
    try {
      tokenizer.encode(part.text, false, scratch, ids);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), where);
    }
    conversation.add(ids, part.counted);
  }
  return conversation;
}

void make_conversations(const ChatDataConfig& config, const Tokenizer& tokenizer,
                        const UseMadeDocument& use) {
  const std::optional<std::int32_t> eos = eos_of_chat(config, tokenizer);
  const auto scratch = tokenizer.make_scratch();
  bool any = false;
  bool any_counts = false;
  const std::vector<std::string> columns{config.messages_field, "prompt", "completion"};
  for_each_record(config.files, config.format, columns, [&](const Record& row) {
    const auto parts = chat_parts(config, row.columns, row.where);
    if (parts.empty()) return;
    Conversation conversation = tokenized(parts, tokenizer, *scratch, row.where);
    if (eos) conversation.add({&*eos, 1}, parts.back().counted);
    use({conversation.ids, &conversation.counted, row.bytes_read, row.place});
    any = true;
    any_counts = any_counts || parts.size() > 1 || parts.front().counted;
  });
  D9D_REQUIRE(any_counts || !any,
              "data.trained_roles: no conversation has a message of these roles, so nothing counts in the "
              "loss");
}

CorpusSourceOptions options_of_chat(const ChatDataConfig& config, const Tokenizer& tokenizer,
                                    RestOfRows rest) {
  return {.sequence_length = config.sequence_length,
          .samples = config.samples,
          .shuffle = config.shuffle,
          .seed = static_cast<std::uint64_t>(config.seed.value_or(0)),
          .pad_id = eos_of_chat(config, tokenizer).value_or(0),
          .vocab_size = tokenizer.vocab_size(),
          .what = "data.files",
          .rest = rest};
}

}  // namespace

TokenRecipe chat_recipe(const ChatDataConfig& given, const Tokenizer& tokenizer, const CorpusWishes& wishes) {
  const ChatDataConfig config = with_found_files(given, RowFormat::jsonl);
  const config::Json all = config::encode(config);
  config::Json keys = {{"tokenizer", sha256_of_file(config.tokenizer)}, {"source", "chat"}};
  for (const char* key : {"format", "roles", "trained_roles", "begin", "messages_field", "role_field",
                          "content_field", "eos_token"}) {
    keys[key] = all.at(key);
  }
  return {.cache = config.cache,
          .files = config.files,
          .keys = std::move(keys),
          .vocab_size = tokenizer.vocab_size(),
          .some_count = true,
          .rows = row_choice_of(config),
          .wishes = wishes,
          .make = [config, &tokenizer](const UseMadeDocument& use) {
            make_conversations(config, tokenizer, use);
          }};
}

ChatSource::ChatSource(const ChatDataConfig& config, std::optional<std::int64_t> ids_below, RestOfRows rest,
                       const CorpusWishes& wishes)
    : ChatSource(config, open_tokenizer_of_chat(config, ids_below), rest, wishes) {}

ChatSource::ChatSource(const ChatDataConfig& config, const Tokenizer& tokenizer, RestOfRows rest,
                       const CorpusWishes& wishes)
    : samples_(corpus_of(chat_recipe(config, tokenizer, wishes)), options_of_chat(config, tokenizer, rest)) {}

}  // namespace d9d
