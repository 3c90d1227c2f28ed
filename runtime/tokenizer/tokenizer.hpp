#pragma once
// Turns text into token ids and back, by a Hugging Face tokenizer.json or a SentencePiece .model.
// Ids equal those of the `tokenizers` library; a file that asks for something not supported here is
// refused by name. Tokens named in neighbouring files are included (tokenizer/token_settings.hpp).
// Immutable, cheap to copy, shared between threads.

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

  // Reads `.model` as SentencePiece and every other name as JSON. A folder: see tokenizer_file().
  static Tokenizer from_file(const std::filesystem::path& given);
  // `where` names the origin in errors.
  static Tokenizer from_json(std::string_view json, std::string_view where);

  std::shared_ptr<Scratch> make_scratch() const;

  // Encodes well-formed UTF-8 (input error with the byte otherwise). `add_special_tokens` adds the
  // tokens that the file's post-processor puts around a text. The first form makes a scratch on
  // each call; keep one for more than one text.
  std::vector<std::int32_t> encode(std::string_view text, bool add_special_tokens) const;
  void encode(std::string_view text, bool add_special_tokens, Scratch& scratch,
              std::vector<std::int32_t>& ids) const;

  // Appends the ids of a prompt: those of encode() with special tokens, but a text that already
  // begins with the special tokens does not get them a second time.
  void encode_prompt(std::string_view text, Scratch& scratch, std::vector<std::int32_t>& ids) const;

  // The same ids, each with the bytes of `text` that it was made of. A token of the file
  // (`<|im_end|>`) is recognised wherever it stands, and only the begin of `text` is encoded as the
  // begin of a text. Replaces the contents of `out`.
  EncodedText encode_with_spans(std::string_view text, bool add_special_tokens) const;
  void encode_with_spans(std::string_view text, bool add_special_tokens, Scratch& scratch,
                         EncodedText& out) const;

  // Decodes as the library does: unknown ids are left out, and bytes that are
  // not UTF-8 become U+FFFD.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens = true) const;

  // Returns the text that `ids` add to the text of `before`. Both are decoded together, so that a
  // space or a character that begins in `before` and ends in `ids` is whole.
  std::string decode_behind(std::span<const std::int32_t> before, std::span<const std::int32_t> ids,
                            bool skip_special_tokens = true) const;

  // All ids are below this: the highest id + 1. (The library counts tokens instead; the two differ
  // where ids have gaps.)
  std::int32_t vocab_size() const;
  // The id of a token as the file writes it (byte-level alphabet, U+2581 for spaces). Added tokens
  // are looked up first.
  std::optional<std::int32_t> token_id(std::string_view token) const;
  // The token as the file writes it; nothing for an unknown id.
  std::optional<std::string> token_text(std::int32_t id) const;

 private:
  explicit Tokenizer(std::shared_ptr<const TextCodec> codec);

  std::shared_ptr<const TextCodec> codec_;
};

// Returns tokenizer.json of a folder, else its tokenizer.model; nothing where it has neither.
std::optional<std::filesystem::path> find_tokenizer_file(const std::filesystem::path& folder);
// Returns `given` if it is a file, else the tokenizer's file in that folder. Input error: the
// folder has none, or one of a kind that is not supported.
std::filesystem::path tokenizer_file(const std::filesystem::path& given);
// A digest of everything that decides which ids a text becomes: the file, and the tokens
// named in neighbouring files.
std::string digest_of_tokenizer(const std::filesystem::path& given);

}  // namespace d9d
