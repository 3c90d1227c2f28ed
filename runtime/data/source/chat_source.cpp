#include "runtime/data/source/chat_source.hpp"

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/counted_corpus.hpp"
#include "runtime/data/source/chat_lines.hpp"
#include "runtime/data/source/documents.hpp"
#include "runtime/data/source/tokenized_text.hpp"

namespace d9d {
namespace {

Tokenizer open_tokenizer_of_chat(const ChatDataConfig& config, std::optional<std::int64_t> ids_below) {
  Tokenizer tokenizer = Tokenizer::from_file(config.tokenizer);
  require_ids_below(tokenizer, config.tokenizer, ids_below);
  return tokenizer;
}

// What reads the lines, and finds the token of their end.
TextDataConfig lines_of(const ChatDataConfig& config) {
  TextDataConfig lines;
  lines.files = config.files;
  lines.tokenizer = config.tokenizer;
  lines.document = DocumentUnit::line;
  lines.eos_token = config.eos_token;
  return lines;
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

std::shared_ptr<const TokenCorpus> read_conversations(const ChatDataConfig& config,
                                                      const Tokenizer& tokenizer) {
  const TextDataConfig lines = lines_of(config);
  const std::optional<std::int32_t> eos = eos_of(lines, tokenizer);
  const auto scratch = tokenizer.make_scratch();
  auto corpus = std::make_shared<CountedCorpus>(tokenizer.vocab_size());
  bool any = false;
  for_each_document(lines, [&](const Document& line) {
    if (line.text.find_first_not_of(" \t") == std::string_view::npos) return;
    const auto parts = chat_parts(config, line.text, line.where);
    if (parts.empty()) return;
    Conversation conversation = tokenized(parts, tokenizer, *scratch, line.where);
    if (eos) conversation.add({&*eos, 1}, parts.back().counted);
    corpus->add_document(conversation.ids, conversation.counted);
    any = any || parts.size() > 1 || parts.front().counted;
  });
  D9D_REQUIRE(any || corpus->num_documents() == 0,
              "data.trained_roles: no conversation has a message of these roles, so nothing counts in the "
              "loss");
  return corpus;
}

CorpusSourceOptions options_of_chat(const ChatDataConfig& config, const Tokenizer& tokenizer) {
  return {.sequence_length = config.sequence_length,
          .samples = config.samples,
          .shuffle = config.shuffle,
          .seed = static_cast<std::uint64_t>(config.seed.value_or(0)),
          .pad_id = eos_of(lines_of(config), tokenizer).value_or(0),
          .vocab_size = tokenizer.vocab_size(),
          .what = "data.files"};
}

}  // namespace

ChatSource::ChatSource(const ChatDataConfig& config, std::optional<std::int64_t> ids_below)
    : ChatSource(config, open_tokenizer_of_chat(config, ids_below)) {}

ChatSource::ChatSource(const ChatDataConfig& config, const Tokenizer& tokenizer)
    : samples_(read_conversations(config, tokenizer), options_of_chat(config, tokenizer)) {}

}  // namespace d9d
