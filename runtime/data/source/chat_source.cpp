#include "runtime/data/source/chat_source.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/file/digest.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/chat/chat_rows.hpp"
#include "runtime/data/chat/template_renderer.hpp"
#include "runtime/data/chat/unread_fields.hpp"
#include "runtime/data/source/text/chat_lines.hpp"
#include "runtime/data/source/text/records.hpp"
#include "runtime/data/source/text/token_cache.hpp"
#include "runtime/data/source/text/tokenized_text.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {
namespace {

struct CountedTokens {
  std::vector<std::int32_t> ids;
  std::vector<bool> counted;  // one for each id

  void add(std::span<const std::int32_t> more, bool counts) {
    ids.insert(ids.end(), more.begin(), more.end());
    counted.resize(ids.size(), counts);
  }
};

using ByteRange = std::pair<std::size_t, std::size_t>;  // [begin, end)

// Tokenises a whole text, with the special tokens in it and none around it. A token counts in the loss if it has bytes
// of `parts`, which are in order and do not overlap. `encoded` is working memory. Input errors: those of the tokenizer.
CountedTokens counted_tokens(const Tokenizer& tokenizer, std::string_view text,
                             std::span<const ByteRange> parts, Tokenizer::Scratch& scratch,
                             EncodedText& encoded) {
  tokenizer.encode_with_spans(text, false, scratch, encoded);
  CountedTokens out;
  out.ids = encoded.ids;
  out.counted.reserve(out.ids.size());
  std::size_t part = 0;
  for (const TokenSpan& span : encoded.spans) {
    while (part < parts.size() && parts[part].second <= span.begin) ++part;
    out.counted.push_back(part < parts.size() && parts[part].first < span.end && span.begin < span.end);
  }
  return out;
}

// Whether the tokenizer puts a mark at the begin of a text (Prepend, Metaspace,
// SentencePiece, a prefix space). Then a part of a text that is encoded alone begins with
// another token than within the text.
bool marks_begins(const Tokenizer& tokenizer) {
  const auto ids = tokenizer.encode("a", false);
  return !ids.empty() && tokenizer.token_text(ids.front()).value_or("a") != "a" &&
         ids != tokenizer.encode("\na", false);
}

std::optional<std::int32_t> eos_of_chat(const ChatDataConfig& config, const Tokenizer& tokenizer) {
  TextDataConfig text;
  text.tokenizer = config.tokenizer;
  text.eos_token = config.eos_token;
  return eos_of(text, tokenizer);
}

bool uses_template(const ChatDataConfig& config) {
  return config.roles.empty() || config.chat_template;
}

void require_one_way(const ChatDataConfig& config) {
  D9D_REQUIRE(
      config.roles.empty() || !config.chat_template,
      "data.roles and data.chat_template both say how a conversation is written; leave one of them out");
}

TemplateUse template_of(const ChatDataConfig& config) {
  return {.tokenizer = config.tokenizer,
          .chat_template = config.chat_template,
          .arguments = config.template_arguments,
          .date = config.template_date,
          .tools = config.tools};
}

// Makes the tokens of rows, in their order. Conversations that a template writes wait for it, some at a
// time, while those before are tokenised.
class Conversations {
 public:
  Conversations(const ChatDataConfig& config, const Tokenizer& tokenizer, const UseMadeDocument& use)
      : config_(config),
        tokenizer_(tokenizer),
        use_(use),
        eos_(eos_of_chat(config, tokenizer)),
        marks_begins_(marks_begins(tokenizer)),
        scratch_(tokenizer.make_scratch()) {}

  void add(const Record& row) {
    const ChatRow read = read_chat_row(config_, row.columns, row.where, unread_);
    if (const auto* pair = std::get_if<TextPair>(&read)) {
      take_until(0);
      any_pair_ = true;
      return make(marked_parts(config_, *pair), row.where, row.bytes_read, row.place);
    }
    const auto& conversation = std::get<Conversation>(read);
    note_roles(conversation);
    if (uses_template(config_)) return ask(conversation, row);
    any_marked_ = true;
    note_unread(conversation, [](std::string_view) { return false; });
    make(marked_parts(config_, conversation, row.where), row.where, row.bytes_read, row.place);
  }

  void finish() {
    take_until(0);
    check();
  }

  // Says what was not read, and refuses what no loss can come of.
  void check() {
    unread_.say();
    warn_of_ends();
    warn_of_roles();
    D9D_REQUIRE(any_counts_ || !any_,
                "data.trained_roles: no conversation has a message of these roles that counts, so nothing "
                "counts in the loss");
  }

  UnreadFields& unread() { return unread_; }

 private:
  static constexpr std::size_t window = 128;  // conversations that the template may be ahead

  void note_unread(const Conversation& conversation, const std::function<bool(std::string_view)>& reads) {
    unread_.add_of_conversation(conversation.messages, conversation.tools, conversation.documents, reads);
  }

  void note_roles(const Conversation& conversation) {
    ++conversations_;
    if (!conversation.answers.empty()) return;
    ++without_answer_;
    for (const RowJson& message : conversation.messages)
      roles_without_answer_.insert(message["role"].get<std::string>());
  }

  // Such rows teach nothing, and a loss does not show it.
  void warn_of_roles() const {
    if (without_answer_ == 0) return;
    log::warn(
        "data.trained_roles: {} of {} conversations have no message of these roles ({}), so nothing of them "
        "counts in the loss; their roles are {}",
        without_answer_, conversations_, fmt::join(config_.trained_roles, ", "),
        fmt::join(roles_without_answer_, ", "));
  }

  // A template writes both ends; markers and pairs of texts have those of the keys alone.
  void warn_of_ends() {
    if (any_pair_ || any_marked_) warn_of_no_begin(tokenizer_, "begin", config_.begin);
    if (any_pair_ && !eos_)
      log::warn(
          "rows {{prompt, completion}} have no end of text, so the model does not learn to stop; set "
          "data.eos_token");
  }

  void ask(const Conversation& conversation, const Record& row) {
    if (!renderer_) {
      D9D_REQUIRE(config_.begin.empty(),
                  "data.begin = \"{}\" stands before what the chat template writes, which has a begin of its "
                  "own; leave it out",
                  config_.begin);
      renderer_ = start_renderer(template_of(config_));
    }
    for (const RowJson& message : conversation.messages) {
      const bool calls_alone =
          message.contains("tool_calls") && !message["tool_calls"].empty() &&
          (!message.contains("content") || message["content"].empty() || message["content"] == "");
      D9D_REQUIRE(!calls_alone || renderer_->reads("tool_calls"),
                  "{}: a message has tool_calls and no text, and the chat template writes no tool_calls; "
                  "name one that does with data.chat_template",
                  row.where);
    }
    note_unread(conversation, [&](std::string_view name) { return renderer_->reads(name); });
    const bool marked = config_.trained_roles == std::vector<std::string>{"assistant"};
    renderer_->ask(render_request(conversation, marked), row.where);
    asked_.push_back({row.where, row.bytes_read, std::string(row.place.file), row.place});
    take_until(window);
  }

  void take_until(std::size_t left) {
    while (renderer_ && renderer_->waiting() > left) {
      const RenderedChat chat = renderer_->take();
      const Asked row = std::move(asked_.front());
      asked_.pop_front();
      emit(encoded(chat.text, chat.counted, row.where), row.bytes_read,
           {row.file, row.place.number, row.place.is_line});
    }
  }

  void make(const std::vector<ChatPart>& parts, const std::string& where, std::uint64_t bytes_read,
            const RowPlace& place) {
    if (parts.empty()) return;
    emit(marks_begins_ ? encoded_whole(parts, where) : encoded_apart(parts, where), bytes_read, place);
  }

  void emit(CountedTokens tokens, std::uint64_t bytes_read, const RowPlace& place) {
    if (tokens.ids.empty()) return;
    if (eos_) tokens.add({&*eos_, 1}, tokens.counted.back());
    any_ = true;
    any_counts_ = any_counts_ || std::ranges::find(tokens.counted, true) != tokens.counted.end();
    use_({tokens.ids, &tokens.counted, bytes_read, place});
  }

  CountedTokens encoded(std::string_view text, std::span<const ByteRange> counted, const std::string& where) {
    try {
      return counted_tokens(tokenizer_, text, counted, *scratch_, encoded_);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what(), where);
    }
  }

  CountedTokens encoded_whole(const std::vector<ChatPart>& parts, const std::string& where) {
    std::string text;
    std::vector<ByteRange> counted;
    for (const ChatPart& part : parts) {
      if (part.counted) counted.emplace_back(text.size(), text.size() + part.text.size());
      text += part.text;
    }
    return encoded(text, counted, where);
  }

  // A model that is asked sees a prompt without its answer, so there the tokens end, too.
  CountedTokens encoded_apart(const std::vector<ChatPart>& parts, const std::string& where) {
    CountedTokens tokens;
    for (const ChatPart& part : parts) {
      ids_.clear();
      try {
        tokenizer_.encode(part.text, false, *scratch_, ids_);
      } catch (const Error& error) {
        throw Error(error.kind(), error.what(), where);
      }
      tokens.add(ids_, part.counted);
    }
    return tokens;
  }

  struct Asked {
    std::string where;
    std::uint64_t bytes_read;
    std::string file;
    RowPlace place;  // its file is the one above
  };
  const ChatDataConfig& config_;
  const Tokenizer& tokenizer_;
  const UseMadeDocument& use_;
  const std::optional<std::int32_t> eos_;
  const bool marks_begins_;
  const std::shared_ptr<Tokenizer::Scratch> scratch_;
  EncodedText encoded_;
  std::vector<std::int32_t> ids_;
  UnreadFields unread_;
  std::unique_ptr<TemplateRenderer> renderer_;
  std::deque<Asked> asked_;
  std::uint64_t conversations_ = 0, without_answer_ = 0;
  std::set<std::string> roles_without_answer_;
  bool any_ = false, any_counts_ = false, any_pair_ = false, any_marked_ = false;
};

void make_conversations(const ChatDataConfig& config, const Tokenizer& tokenizer,
                        const UseMadeDocument& use) {
  Conversations conversations(config, tokenizer, use);
  try {
    for_each_record(
        config.files, config.format, chat_columns(config), [&](const Record& row) { conversations.add(row); },
        &conversations.unread());
    conversations.finish();
  } catch (const std::exception&) {
    throw;
  } catch (...) {  // whoever uses them has enough
    conversations.check();
    throw;
  }
}

// What the texts of a template depend on, beside the rows.
config::Json template_recipe(const ChatDataConfig& config) {
  const auto found = find_chat_template(config.tokenizer, config.chat_template);
  if (!found) return nullptr;
  return {{"texts", found->texts},
          {"choice", found->choice ? config::Json(*found->choice) : config::Json(nullptr)},
          {"special_tokens", found->special_tokens},
          {"arguments", config.template_arguments},
          {"date", config.template_date ? config::Json(*config.template_date) : config::Json(nullptr)},
          {"tools", config.tools ? config::Json(sha256_of_file(*config.tools)) : config::Json(nullptr)}};
}

CorpusSourceOptions options_of_chat(const ChatDataConfig& config, const Tokenizer& tokenizer,
                                    const SampleForm& form) {
  return {.sequence_length = config.sequence_length,
          .samples = config.samples,
          .shuffle = config.shuffle,
          .seed = static_cast<std::uint64_t>(config.seed.value_or(0)),
          .pad_id = eos_of_chat(config, tokenizer).value_or(0),
          .vocab_size = tokenizer.vocab_size(),
          .what = "data.files",
          .form = form};
}

}  // namespace

TokenRecipe chat_recipe(const ChatDataConfig& given, const Tokenizer& tokenizer, const CorpusWishes& wishes) {
  require_one_way(given);
  const ChatDataConfig config = with_found_files(given, RowFormat::jsonl);
  const config::Json all = config::encode(config);
  // "reads" counts what is read of a row: other ids come of the same files.
  config::Json keys = {
      {"tokenizer", digest_of_tokenizer(config.tokenizer)}, {"source", "chat"}, {"reads", 3}};
  if (uses_template(config)) keys["template"] = template_recipe(config);
  for (const char* key : {"format", "roles", "trained_roles", "loss", "begin", "messages_field", "role_field",
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

ChatSource::ChatSource(const ChatDataConfig& config, std::optional<std::int64_t> ids_below,
                       const SampleForm& form, const CorpusWishes& wishes)
    : ChatSource(config, Tokenizer::from_file(config.tokenizer), ids_below, form, wishes) {}

ChatSource::ChatSource(const ChatDataConfig& config, const Tokenizer& tokenizer,
                       std::optional<std::int64_t> ids_below, const SampleForm& form,
                       const CorpusWishes& wishes)
    : CorpusSource(corpus_of(checked_recipe(chat_recipe(config, tokenizer, wishes), tokenizer, ids_below)),
                   options_of_chat(config, tokenizer, form)) {}

}  // namespace d9d
