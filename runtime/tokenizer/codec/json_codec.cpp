#include "runtime/tokenizer/codec/json_codec.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/tokenizer/codec/added_tokens.hpp"
#include "runtime/tokenizer/codec/decoder.hpp"
#include "runtime/tokenizer/codec/normalizer.hpp"
#include "runtime/tokenizer/codec/pre_tokenizer.hpp"
#include "runtime/tokenizer/codec/span_finder.hpp"
#include "runtime/tokenizer/codec/template_processor.hpp"
#include "runtime/tokenizer/model/read_token_model.hpp"
#include "runtime/tokenizer/model/word_cache.hpp"

namespace d9d {
namespace {

std::string normalized_content(const AddedToken& token, const Normalizer& normalizer) {
  NormalizerScratch scratch;
  RegexScratch regex;
  return token.normalized ? std::string(normalizer.apply(token.content, scratch, regex).text) : token.content;
}

AddedTokenFinder make_finder(const std::vector<AddedToken>& all, bool normalized,
                             const Normalizer& normalizer) {
  std::vector<AddedToken> tokens;
  std::vector<std::string> texts;
  for (const AddedToken& token : all) {
    if (token.normalized != normalized) continue;
    tokens.push_back(token);
    texts.push_back(normalized_content(token, normalizer));
  }
  return {std::move(tokens), texts};
}

const nlohmann::json& member(const nlohmann::json& root, const char* key) {
  static const nlohmann::json null;
  const auto found = root.find(key);
  return found == root.end() ? null : *found;
}

struct Parts {
  Parts(const nlohmann::json& root, const TokenSettings& settings)
      : normalizer(Normalizer::from_json({member(root, "normalizer"), "normalizer"})),
        pre_tokenizer(PreTokenizer::from_json({member(root, "pre_tokenizer"), "pre_tokenizer"})),
        model(read_token_model({member(root, "model"), "model"}, pre_tokenizer.byte_level())),
        added(with_settings(read_added(root), settings, {model->vocabulary().tokens()})),
        raw_finder(make_finder(added, false, normalizer)),
        normalized_finder(make_finder(added, true, normalizer)),
        around(TemplateProcessor::from_json({member(root, "post_processor"), "post_processor"})),
        decoder(Decoder::from_json({member(root, "decoder"), "decoder"})) {
    tokens = model->vocabulary().tokens();
    std::unordered_set<std::string> specials;
    for (const AddedToken& token : added) {
      place(token.id, token.content);
      if (token.special) specials.insert(token.content);
    }
    decoded = tokens;
    special.resize(tokens.size());
    for (const AddedToken& token : added) {
      decoded[token.id] = normalized_content(token, normalizer);
      special[token.id] = specials.contains(*decoded[token.id]);
    }
  }

  std::vector<AddedToken> read_added(const nlohmann::json& root) const {
    if (member(root, "added_tokens").is_null()) return {};
    std::vector<AddedToken> out = added_tokens_from_json({root["added_tokens"], "added_tokens"});
    for (const AddedToken& token : out) {
      const std::int32_t known = model->vocabulary().id_of(token.content).value_or(token.id);
      D9D_REQUIRE(known == token.id,
                  "added token \"{}\" has id {}, but model.vocab gives it {}; make them agree", token.content,
                  token.id, known);
    }
    return out;
  }

  void place(std::int32_t id, const std::string& token) {
    if (static_cast<std::size_t>(id) >= tokens.size()) tokens.resize(id + 1);
    tokens[id] = token;
  }

  const Normalizer normalizer;
  const PreTokenizer pre_tokenizer;
  const std::unique_ptr<const TokenModel> model;
  const std::vector<AddedToken> added;
  const AddedTokenFinder raw_finder;
  const AddedTokenFinder normalized_finder;
  const TemplateProcessor around;
  const Decoder decoder;
  std::vector<std::optional<std::string>> tokens;   // by id, as written
  std::vector<std::optional<std::string>> decoded;  // by id, as the decoder gets it
  std::vector<bool> special;                        // by id, left out when skipping special tokens
};

class JsonScratch final : public TextCodec::Scratch {
 public:
  explicit JsonScratch(const Parts& parts) : parts_(parts) { traced_pre_tokenizer_.traced = true; }

  void encode(std::string_view text, std::vector<std::int32_t>& ids) {
    raw_parts_.clear();
    parts_.raw_finder.split(text, raw_parts_, regex_);
    for (const auto& raw : raw_parts_) {
      if (raw.id) {
        ids.push_back(*raw.id);
      } else {
        encode_between(raw.text, raw.text.data() == text.data(), ids);
      }
    }
  }

  void encode_with_spans(std::string_view text, EncodedText& out) {
    raw_parts_.clear();
    parts_.raw_finder.split(text, raw_parts_, regex_);
    SpanFinder finder(text);
    for (const auto& raw : raw_parts_) {
      if (raw.id) {
        out.ids.push_back(*raw.id);
        out.spans.push_back(finder.of_text(raw.text));
      } else {
        encode_between_with_spans(raw.text, raw.text.data() == text.data(), finder, out);
      }
    }
  }

 private:
  // `at_begin`: no token stands before the text.
  void encode_between(std::string_view text, bool at_begin, std::vector<std::int32_t>& ids) {
    normalized_parts_.clear();
    const NormalizedText normalized = parts_.normalizer.apply(text, normalizer_, regex_);
    at_begin = at_begin && normalized.begins_at_begin;
    parts_.normalized_finder.split(normalized.text, normalized_parts_, regex_);
    for (const auto& part : normalized_parts_) {
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      const bool first = at_begin && part.text.data() == normalized.text.data();
      for (const std::string_view word :
           parts_.pre_tokenizer.split(part.text, first, pre_tokenizer_, regex_)) {
        encode_word(word, ids);
      }
    }
  }

  void encode_between_with_spans(std::string_view text, bool at_begin, SpanFinder& finder, EncodedText& out) {
    normalized_parts_.clear();
    const NormalizedText normalized =
        parts_.normalizer.apply_traced(text, normalizer_, regex_, finder.enter(text));
    finder.normalized(normalized.text);
    at_begin = at_begin && normalized.begins_at_begin;
    parts_.normalized_finder.split(normalized.text, normalized_parts_, regex_);
    for (const auto& part : normalized_parts_) {
      if (part.id) {
        out.ids.push_back(*part.id);
        out.spans.push_back(finder.of_normalized(part.text.data(), part.text.data() + part.text.size() - 1));
        continue;
      }
      const bool first = at_begin && part.text.data() == normalized.text.data();
      for (const std::string_view word :
           parts_.pre_tokenizer.split(part.text, first, traced_pre_tokenizer_, regex_)) {
        encode_word_with_spans(word, finder, out);
      }
    }
  }

  void encode_word_with_spans(std::string_view word, const SpanFinder& finder, EncodedText& out) {
    const auto& [ids, begins] = traced(word);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      // Tokens of bytes of one character begin at the same place.
      std::size_t next = i + 1;
      while (next < ids.size() && begins[next] == begins[i]) ++next;
      const std::size_t end = next < ids.size() ? begins[next] : word.size();
      const auto source = [&](std::size_t at) { return traced_pre_tokenizer_.source_of(word.data() + at); };
      out.ids.push_back(ids[i]);
      out.spans.push_back(finder.of_normalized(source(begins[i]), source(end - 1)));
    }
  }

  struct TracedWord {
    std::vector<std::int32_t> ids;
    std::vector<std::uint32_t> begins;
  };
  const TracedWord& traced(std::string_view word) {
    const auto found = traced_.find(std::string(word));
    if (found != traced_.end()) return found->second;
    if (traced_.size() >= traced_words_max) traced_.clear();
    TracedWord made;
    model_.begins = &made.begins;
    parts_.model->encode(word, model_, made.ids);
    model_.begins = nullptr;
    return traced_.emplace(word, std::move(made)).first->second;
  }

  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) {
    if (const auto known = cache_.find(word)) {
      ids.insert(ids.end(), known->begin(), known->end());
      return;
    }
    const std::size_t before = ids.size();
    parts_.model->encode(word, model_, ids);
    cache_.put(word, std::span(ids).subspan(before));
  }

  static constexpr std::size_t traced_words_max = 1 << 15;

  const Parts& parts_;
  RegexScratch regex_;
  NormalizerScratch normalizer_;
  PreTokenizerScratch pre_tokenizer_;
  PreTokenizerScratch traced_pre_tokenizer_;
  ModelScratch model_;
  WordCache cache_;
  std::unordered_map<std::string, TracedWord> traced_;  // as cache_, bounded alike
  std::vector<AddedTokenFinder::Part> raw_parts_;
  std::vector<AddedTokenFinder::Part> normalized_parts_;
};

class JsonCodec final : public TextCodec {
 public:
  JsonCodec(const nlohmann::json& root, const TokenSettings& settings) : parts_(root, settings) {}

  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<JsonScratch>(parts_); }

  void encode(std::string_view text, bool add_special_tokens, Scratch& scratch,
              std::vector<std::int32_t>& ids) const override {
    const auto& [before, after] = parts_.around;
    if (add_special_tokens) ids.insert(ids.end(), before.begin(), before.end());
    static_cast<JsonScratch&>(scratch).encode(text, ids);
    if (add_special_tokens) ids.insert(ids.end(), after.begin(), after.end());
  }

  void encode_with_spans(std::string_view text, bool add_special_tokens, Scratch& scratch,
                         EncodedText& out) const override {
    const auto& [before, after] = parts_.around;
    if (add_special_tokens) add_around(before, 0, out);
    static_cast<JsonScratch&>(scratch).encode_with_spans(text, out);
    if (add_special_tokens) add_around(after, text.size(), out);
  }

  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const override {
    std::vector<std::string> tokens;
    tokens.reserve(ids.size());
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= vocab_size() || !parts_.decoded[id]) continue;
      if (skip_special_tokens && parts_.special[id]) continue;
      tokens.push_back(*parts_.decoded[id]);
    }
    return parts_.decoder.decode(std::move(tokens));
  }

  const std::vector<std::int32_t>& text_begin() const override { return parts_.around.before; }

  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(parts_.tokens.size()); }

  std::optional<std::int32_t> token_id(std::string_view token) const override {
    const auto found = std::ranges::find(parts_.added, token, &AddedToken::content);
    return found != parts_.added.end() ? std::optional(found->id) : parts_.model->vocabulary().id_of(token);
  }

  std::optional<std::string> token_text(std::int32_t id) const override {
    if (id < 0 || id >= vocab_size()) return std::nullopt;
    return parts_.tokens[id];
  }

 private:
  static void add_around(const std::vector<std::int32_t>& ids, std::size_t place, EncodedText& out) {
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    out.spans.resize(out.ids.size(), {place, place});
  }

  const Parts parts_;
};

}  // namespace

std::unique_ptr<const TextCodec> read_json_codec(std::string_view json, std::string_view where,
                                                 const TokenSettings& settings) {
  const nlohmann::json root = try_parse_json<nlohmann::json>(json);
  D9D_REQUIRE(root.is_object(), "{} is not a JSON object; expected a Hugging Face tokenizer.json", where);
  try {
    return std::make_unique<JsonCodec>(root, settings);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), std::string(where));
  }
}

}  // namespace d9d
