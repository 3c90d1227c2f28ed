#include "runtime/tokenizer/codec/sentence_piece.hpp"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <unordered_map>

#include "runtime/base/error.hpp"
#include "runtime/tokenizer/codec/added_tokens.hpp"
#include "runtime/tokenizer/codec/span_finder.hpp"

namespace d9d {
namespace {

using sentencepiece::SentencePieceProcessor;

// normalizer_spec { add_dummy_prefix: false } in the wire format of sentencepiece_model.proto: of a field that is there
// twice the last value counts.
constexpr std::string_view without_prefix("\x1a\x02\x18\x00", 4);

void require_ok(const sentencepiece::util::Status& status) {
  D9D_REQUIRE(status.ok(), "sentencepiece: {}", status.ToString());
}

std::vector<std::optional<std::string>> pieces_of(const SentencePieceProcessor& processor) {
  std::vector<std::optional<std::string>> pieces;
  for (int id = 0; id < processor.GetPieceSize(); ++id) pieces.emplace_back(processor.IdToPiece(id));
  return pieces;
}

// The library never finds these in a text.
std::vector<AddedToken> control_tokens(const SentencePieceProcessor& processor) {
  std::vector<AddedToken> tokens;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    if (!processor.IsControl(id) && !processor.IsUnknown(id)) continue;
    tokens.push_back({.content = processor.IdToPiece(id), .id = id, .special = true});
  }
  return tokens;
}

AddedTokenFinder finder_of(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> texts;
  for (const AddedToken& token : tokens) texts.push_back(token.content);
  return {tokens, texts};
}

class SentencePieceScratch final : public TextCodec::Scratch {
 public:
  RegexScratch regex;
  std::vector<AddedTokenFinder::Part> parts;
};

class SentencePieceCodec final : public TextCodec {
 public:
  SentencePieceCodec(const std::filesystem::path& path, const TokenSettings& settings)
      : begins_(load(path)),
        goes_on_(load_without_prefix(*begins_)),
        added_(with_settings(control_tokens(*begins_), settings, {pieces_of(*begins_), true})),
        finder_(finder_of(added_)),
        legacy_(settings.legacy),
        adds_prefix_space_(settings.adds_prefix_space.value_or(true)) {
    size_ = begins_->GetPieceSize();
    for (const AddedToken& token : added_) {
      // The library has a text of its own for what is unknown.
      if (token.id >= begins_->GetPieceSize() || !begins_->IsUnknown(token.id)) by_id_[token.id] = &token;
      size_ = std::max(size_, token.id + 1);
    }
    add_around(settings.adds_bos, settings.bos, before_);
    add_around(settings.adds_eos, settings.eos, after_);
  }

  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<SentencePieceScratch>(); }

  void encode(std::string_view text, bool add_special_tokens, Scratch& scratch,
              std::vector<std::int32_t>& ids) const override {
    if (add_special_tokens) ids.insert(ids.end(), before_.begin(), before_.end());
    std::vector<int> found;
    for (const auto& part : parts_of(text, scratch)) {
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      require_ok(processor_of(part.text.data() == text.data()).Encode(part.text, &found));
      ids.insert(ids.end(), found.begin(), found.end());
    }
    if (add_special_tokens) ids.insert(ids.end(), after_.begin(), after_.end());
  }

  void encode_with_spans(std::string_view text, bool add_special_tokens, Scratch& scratch,
                         EncodedText& out) const override {
    const auto add = [&](const std::vector<std::int32_t>& ids, std::size_t place) {
      out.ids.insert(out.ids.end(), ids.begin(), ids.end());
      out.spans.resize(out.ids.size(), {place, place});
    };
    const SpanFinder finder(text);
    if (add_special_tokens) add(before_, 0);
    for (const auto& part : parts_of(text, scratch)) {
      if (part.id) {
        out.ids.push_back(*part.id);
        out.spans.push_back(finder.of_text(part.text));
        continue;
      }
      const auto begin = static_cast<std::size_t>(part.text.data() - text.data());
      const auto encoded = processor_of(begin == 0).EncodeAsImmutableProto(part.text);
      for (const auto& piece : encoded.pieces()) {
        out.ids.push_back(static_cast<std::int32_t>(piece.id()));
        out.spans.push_back(finder.of_bytes(begin + piece.begin(), begin + piece.end()));
      }
    }
    if (add_special_tokens) add(after_, text.size());
  }

  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const override {
    std::string text;
    std::vector<int> run;
    bool first = true;
    const auto flush = [&] {
      if (run.empty()) return;
      std::string decoded;
      require_ok(processor_of(first).Decode(run, &decoded));
      text += decoded;
      run.clear();
      first = false;
    };
    for (const std::int32_t id : ids) {
      if (const auto token = by_id_.find(id); token != by_id_.end()) {
        if (skip_special_tokens && token->second->special) continue;
        flush();
        text += token->second->content;
        first = false;
      } else if (id >= 0 && id < begins_->GetPieceSize()) {
        run.push_back(id);
      }
    }
    flush();
    return text;
  }

  const std::vector<std::int32_t>& text_begin() const override { return before_; }
  std::int32_t vocab_size() const override { return size_; }

  std::optional<std::int32_t> token_id(std::string_view token) const override {
    const auto found = std::ranges::find(added_, token, &AddedToken::content);
    if (found != added_.end()) return found->id;
    // A piece that is not known has the id of the unknown one.
    const int id = begins_->PieceToId(token);
    return token_text(id) == token ? std::optional(id) : std::nullopt;
  }

  std::optional<std::string> token_text(std::int32_t id) const override {
    if (const auto token = by_id_.find(id); token != by_id_.end()) return token->second->content;
    if (id < 0 || id >= begins_->GetPieceSize()) return std::nullopt;
    return begins_->IdToPiece(id);
  }

 private:
  using Loaded = std::unique_ptr<const SentencePieceProcessor>;

  static Loaded load(const std::filesystem::path& path) {
    auto processor = std::make_unique<SentencePieceProcessor>();
    const auto status = processor->Load(path.string());
    D9D_REQUIRE(status.ok(), "{} is not a model of SentencePiece: {}", path.string(), status.ToString());
    return processor;
  }

  // Null where the model strips blanks at the ends of a text: what goes on is then a text of its own, too.
  static Loaded load_without_prefix(const SentencePieceProcessor& whole) {
    auto processor = std::make_unique<SentencePieceProcessor>();
    require_ok(processor->LoadFromSerializedProto(whole.serialized_model_proto().append(without_prefix)));
    std::vector<int> blanks;
    require_ok(processor->Encode("  ", &blanks));
    return blanks.empty() ? nullptr : std::move(processor);
  }

  void add_around(bool adds, const std::optional<std::string>& token, std::vector<std::int32_t>& to) const {
    if (!adds || !token) return;
    if (const auto id = token_id(*token)) to.push_back(*id);
  }

  // `at_begin`: no token stands before the text.
  const SentencePieceProcessor& processor_of(bool at_begin) const {
    const bool begins = at_begin || legacy_;
    return (begins && adds_prefix_space_) || !goes_on_ ? *begins_ : *goes_on_;
  }

  const std::vector<AddedTokenFinder::Part>& parts_of(std::string_view text, Scratch& scratch) const {
    auto& mine = static_cast<SentencePieceScratch&>(scratch);
    mine.parts.clear();
    finder_.split(text, mine.parts, mine.regex);
    return mine.parts;
  }

  const Loaded begins_;
  const Loaded goes_on_;
  const std::vector<AddedToken> added_;
  const AddedTokenFinder finder_;
  const bool legacy_;
  const bool adds_prefix_space_;
  std::int32_t size_ = 0;
  std::unordered_map<std::int32_t, const AddedToken*> by_id_;
  std::vector<std::int32_t> before_;
  std::vector<std::int32_t> after_;
};

}  // namespace

std::unique_ptr<const TextCodec> read_sentence_piece(const std::filesystem::path& path,
                                                     const TokenSettings& settings) {
  return std::make_unique<SentencePieceCodec>(path, settings);
}

}  // namespace d9d
