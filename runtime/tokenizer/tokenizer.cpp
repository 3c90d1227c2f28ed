#include "runtime/tokenizer/tokenizer.hpp"

#include <algorithm>
#include <fstream>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/file/digest.hpp"
#include "runtime/tokenizer/characters/utf8.hpp"
#include "runtime/tokenizer/codec/json_codec.hpp"
#include "runtime/tokenizer/codec/sentence_piece.hpp"
#include "runtime/tokenizer/codec/token_settings.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

void require_utf8(std::string_view text) {
  const std::size_t bad = first_invalid_utf8(text);
  D9D_REQUIRE(bad == text.size(),
              "byte {} of the text (0x{:02X}) is not UTF-8; convert the text to UTF-8 first", bad,
              static_cast<unsigned char>(text[bad]));
}

// What transformers writes as tokenizer.json once.
constexpr const char* make_json =
    "make a tokenizer.json of it once: python -c 'from transformers import AutoTokenizer as T; "
    "T.from_pretrained(\"FOLDER\").save_pretrained(\"FOLDER\")'";

void refuse_other_files(const fs::path& file) {
  const std::string name = file.filename().string();
  D9D_REQUIRE(name != "tiktoken.model" && name != "tekken.json",
              "{} is a tokenizer that is not read here; {}", file.string(), make_json);
}

}  // namespace

std::optional<fs::path> find_tokenizer_file(const fs::path& folder) {
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    std::error_code unreadable;
    if (fs::exists(folder / name, unreadable)) return folder / name;
  }
  return std::nullopt;
}

fs::path tokenizer_file(const fs::path& given) {
  std::error_code missing;
  if (!fs::is_directory(given, missing)) {
    refuse_other_files(given);
    return given;
  }
  if (const auto found = find_tokenizer_file(given)) return *found;
  for (const char* name : {"tiktoken.model", "tekken.json", "vocab.json"}) {
    D9D_REQUIRE(!fs::exists(given / name, missing),
                "{} has no tokenizer.json and no tokenizer.model, only {}, which is not read here; {}",
                given.string(), name, make_json);
  }
  throw Error(ErrorKind::input,
              fmt::format("{} has no tokenizer.json and no tokenizer.model", given.string()));
}

std::string digest_of_tokenizer(const fs::path& given) {
  const fs::path file = tokenizer_file(given);
  const std::string digest = sha256_of_file(file);
  const std::string beside = token_settings_beside(file).digest_text();
  return beside.empty() ? digest : sha256_of(digest + "\n" + beside);
}

class Tokenizer::Scratch {
 public:
  explicit Scratch(std::shared_ptr<const TextCodec> codec)
      : owner(std::move(codec)), scratch(owner->make_scratch()) {}

  const std::shared_ptr<const TextCodec> owner;  // lives as long as what it made
  const std::unique_ptr<TextCodec::Scratch> scratch;
};

Tokenizer::Tokenizer(std::shared_ptr<const TextCodec> codec) : codec_(std::move(codec)) {}

Tokenizer Tokenizer::from_file(const fs::path& given) {
  const fs::path path = tokenizer_file(given);
  std::ifstream file(path, std::ios::binary);
  D9D_REQUIRE(file,
              "cannot read the tokenizer file {}; expected a Hugging Face tokenizer.json or a .model of "
              "SentencePiece (a relative path begins where d9d-node is started)",
              path.string());
  const TokenSettings settings = token_settings_beside(path);
  if (path.extension() == ".model") return Tokenizer(read_sentence_piece(path, settings));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  require_no_byte_order_mark(text, path.string());
  return Tokenizer(read_json_codec(text, path.string(), settings));
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

void Tokenizer::encode_prompt(std::string_view text, Scratch& scratch, std::vector<std::int32_t>& ids) const {
  const std::vector<std::int32_t>& begin = codec_->text_begin();
  const std::size_t before = ids.size();
  encode(text, true, scratch, ids);
  const auto first = ids.begin() + static_cast<std::ptrdiff_t>(before);
  const auto length = std::ssize(begin);
  const bool is_double = !begin.empty() && ids.end() - first >= 2 * length &&
                         std::equal(begin.begin(), begin.end(), first + length);
  if (is_double) ids.erase(first, first + length);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const {
  return codec_->decode(ids, skip_special_tokens);
}

std::string Tokenizer::decode_behind(std::span<const std::int32_t> before, std::span<const std::int32_t> ids,
                                     bool skip_special_tokens) const {
  std::vector<std::int32_t> all(before.begin(), before.end());
  all.insert(all.end(), ids.begin(), ids.end());
  const std::string text = decode(all, skip_special_tokens);
  const std::string head = decode(before, skip_special_tokens);
  // They part where a character was cut in half, or a decoder cleans up across the seam.
  auto at = static_cast<std::size_t>(std::ranges::mismatch(text, head).in1 - text.begin());
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return text.substr(at);
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
