#pragma once
// Text to token ids and back, by a Hugging Face tokenizer.json (the ids that the `tokenizers` library gives;
// what the file asks for and we cannot do is refused by name) or a .model of SentencePiece, with the tokens that the
// files beside it name (tokenizer/token_settings.hpp). Immutable, cheap to copy, shared between threads.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/codec/token_span.hpp"

namespace d9d {

class TextCodec;

class Tokenizer {
 public:
  // Working memory and word cache of one thread for one tokenizer; made by make_scratch().
  class Scratch;

  // The end of the name says the kind: `.model`, else JSON. Of a folder: tokenizer_file().
  static Tokenizer from_file(const std::filesystem::path& given);
  // `where` names the origin in errors.
  static Tokenizer from_json(std::string_view json, std::string_view where);

  std::shared_ptr<Scratch> make_scratch() const;

  // `text` must be well-formed UTF-8 (input error with the byte otherwise).
  // `add_special_tokens` adds what the file's post-processor puts around a text.
  // The first form makes a scratch; keep one when there is more than one text.
  std::vector<std::int32_t> encode(std::string_view text, bool add_special_tokens) const;
  void encode(std::string_view text, bool add_special_tokens, Scratch& scratch,
              std::vector<std::int32_t>& ids) const;

  // Appends what a model is asked with: as encode() with special tokens, but a text that begins with them already
  // does not get those in front of a text twice.
  void encode_prompt(std::string_view text, Scratch& scratch, std::vector<std::int32_t>& ids) const;

  // The same ids with the bytes of `text` that each was made of: what is a token of the file (`<|im_end|>`) is one
  // wherever it stands, and nothing but the begin of `text` is encoded as a begin. Replaces what is in `out`.
  EncodedText encode_with_spans(std::string_view text, bool add_special_tokens) const;
  void encode_with_spans(std::string_view text, bool add_special_tokens, Scratch& scratch,
                         EncodedText& out) const;

  // As the library: unknown ids are left out, bytes that are not UTF-8 become U+FFFD.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens = true) const;

  // What `ids` add to the text of `before` when both are decoded together: a blank or a character that begins in the one
  // and ends in the other is whole.
  std::string decode_behind(std::span<const std::int32_t> before, std::span<const std::int32_t> ids,
                            bool skip_special_tokens = true) const;

  // Ids are below this: the highest id + 1 (the library counts tokens; it differs where ids have gaps).
  std::int32_t vocab_size() const;
  // Of a token as written in the file (byte-level alphabet, U+2581 for spaces), added tokens first.
  std::optional<std::int32_t> token_id(std::string_view token) const;
  // As written in the file; nothing for an unknown id.
  std::optional<std::string> token_text(std::int32_t id) const;

 private:
  explicit Tokenizer(std::shared_ptr<const TextCodec> codec);

  std::shared_ptr<const TextCodec> codec_;
};

// tokenizer.json, else tokenizer.model, of a folder; nothing where neither is there.
std::optional<std::filesystem::path> find_tokenizer_file(const std::filesystem::path& folder);
// The file itself, or that of a folder. Input error for a folder without one, and for the kinds that are not read.
std::filesystem::path tokenizer_file(const std::filesystem::path& given);
// Another one where a text may become other ids: of the file, and of the tokens that are named beside it.
std::string digest_of_tokenizer(const std::filesystem::path& given);

}  // namespace d9d
