#include "runtime/data/tokenizer/sentence_piece.hpp"

#include <sentencepiece_processor.h>

#include "runtime/base/error.hpp"
#include "runtime/data/tokenizer/span_finder.hpp"

namespace d9d {
namespace {

class SentencePieceCodec final : public TextCodec {
 public:
  explicit SentencePieceCodec(const std::filesystem::path& path) {
    const auto status = processor_.Load(path.string());
    D9D_REQUIRE(status.ok(), "{} is not a model of SentencePiece: {}", path.string(), status.ToString());
  }

  // The library keeps no state between texts.
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }

  void encode(std::string_view text, bool /*add_special_tokens*/, Scratch& /*scratch*/,
              std::vector<std::int32_t>& ids) const override {
    std::vector<int> found;
    const auto status = processor_.Encode(text, &found);
    D9D_REQUIRE(status.ok(), "sentencepiece: {}", status.ToString());
    ids.insert(ids.end(), found.begin(), found.end());
  }

  void encode_with_spans(std::string_view text, bool /*add_special_tokens*/, Scratch& /*scratch*/,
                         EncodedText& out) const override {
    SpanFinder finder(text);
    const auto encoded = processor_.EncodeAsImmutableProto(text);
    for (const auto& piece : encoded.pieces()) {
      out.ids.push_back(static_cast<std::int32_t>(piece.id()));
      out.spans.push_back(finder.of_bytes(piece.begin(), piece.end()));
    }
  }

  std::string decode(std::span<const std::int32_t> ids, bool /*skip_special_tokens*/) const override {
    std::vector<int> known;
    for (const std::int32_t id : ids) {
      if (id >= 0 && id < vocab_size()) known.push_back(id);
    }
    std::string text;
    const auto status = processor_.Decode(known, &text);
    D9D_REQUIRE(status.ok(), "sentencepiece: {}", status.ToString());
    return text;
  }

  std::int32_t vocab_size() const override { return processor_.GetPieceSize(); }

  std::optional<std::int32_t> token_id(std::string_view token) const override {
    // A piece that is not known has the id of the unknown one.
    const int id = processor_.PieceToId(token);
    return token_text(id) == token ? std::optional(id) : std::nullopt;
  }

  std::optional<std::string> token_text(std::int32_t id) const override {
    if (id < 0 || id >= vocab_size()) return std::nullopt;
    return processor_.IdToPiece(id);
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<const TextCodec> read_sentence_piece(const std::filesystem::path& path) {
  return std::make_unique<SentencePieceCodec>(path);
}

}  // namespace d9d
