#include "runtime/data/tokenizer.hpp"

#include <fstream>

#include "runtime/base/error.hpp"
#include "runtime/data/tokenizer/json_codec.hpp"
#include "runtime/data/tokenizer/sentence_piece.hpp"
#include "runtime/data/tokenizer/utf8.hpp"

namespace d9d {
namespace {

void require_utf8(std::string_view text) {
  const std::size_t bad = first_invalid_utf8(text);
  D9D_REQUIRE(bad == text.size(),
              "byte {} of the text (0x{:02X}) is not UTF-8; convert the text to UTF-8 first", bad,
              static_cast<unsigned char>(text[bad]));
}

}  // namespace

class Tokenizer::Scratch {
 public:
  explicit Scratch(std::shared_ptr<const TextCodec> codec)
      : owner(std::move(codec)), scratch(owner->make_scratch()) {}

  const std::shared_ptr<const TextCodec> owner;  // lives as long as what it made
  const std::unique_ptr<TextCodec::Scratch> scratch;
};

Tokenizer::Tokenizer(std::shared_ptr<const TextCodec> codec) : codec_(std::move(codec)) {}

Tokenizer Tokenizer::from_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  D9D_REQUIRE(file,
              "cannot read the tokenizer file {}; expected a Hugging Face tokenizer.json or a .model of "
              "SentencePiece (a relative path begins where d9d-node is started)",
              path.string());
  if (path.extension() == ".model") return Tokenizer(read_sentence_piece(path));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return from_json(text, path.string());
}

Tokenizer Tokenizer::from_json(std::string_view json, std::string_view where) {
  return Tokenizer(read_json_codec(json, where));
}

std::shared_ptr<Tokenizer::Scratch> Tokenizer::make_scratch() const {
  return std::make_shared<Scratch>(codec_);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  std::vector<std::int32_t> ids;
  Scratch scratch(codec_);
  encode(text, add_special_tokens, scratch, ids);
  return ids;
}

void Tokenizer::encode(std::string_view text, bool add_special_tokens, Scratch& scratch,
                       std::vector<std::int32_t>& ids) const {
  D9D_CHECK(scratch.owner == codec_, "a scratch made by another tokenizer");
  require_utf8(text);
  codec_->encode(text, add_special_tokens, *scratch.scratch, ids);
}

EncodedText Tokenizer::encode_with_spans(std::string_view text, bool add_special_tokens) const {
  EncodedText out;
  Scratch scratch(codec_);
  encode_with_spans(text, add_special_tokens, scratch, out);
  return out;
}

void Tokenizer::encode_with_spans(std::string_view text, bool add_special_tokens, Scratch& scratch,
                                  EncodedText& out) const {
  D9D_CHECK(scratch.owner == codec_, "a scratch made by another tokenizer");
  require_utf8(text);
  out.ids.clear();
  out.spans.clear();
  codec_->encode_with_spans(text, add_special_tokens, *scratch.scratch, out);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const {
  return codec_->decode(ids, skip_special_tokens);
}

std::int32_t Tokenizer::vocab_size() const {
  return codec_->vocab_size();
}

std::optional<std::int32_t> Tokenizer::token_id(std::string_view token) const {
  return codec_->token_id(token);
}

std::optional<std::string> Tokenizer::token_text(std::int32_t id) const {
  return codec_->token_text(id);
}

}  // namespace d9d
