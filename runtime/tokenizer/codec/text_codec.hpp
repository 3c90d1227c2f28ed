#pragma once
// The interface of a tokenizer's file: text to ids and back. It has one class for each kind
// of file: tokenizer.json (json_codec), SentencePiece's .model (sentence_piece). Immutable
// and shared between threads.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/codec/token_span.hpp"

namespace d9d {

class TextCodec {
 public:
  // Working memory of one thread; used with the codec that made it only.
  class Scratch {
   public:
    virtual ~Scratch() = default;
  };

  virtual ~TextCodec() = default;
  virtual std::unique_ptr<Scratch> make_scratch() const = 0;

  // Appends the ids of well-formed UTF-8.
  virtual void encode(std::string_view text, bool add_special_tokens, Scratch& scratch,
                      std::vector<std::int32_t>& ids) const = 0;
  // The same ids with their places in the text.
  virtual void encode_with_spans(std::string_view text, bool add_special_tokens, Scratch& scratch,
                                 EncodedText& out) const = 0;
  virtual std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const = 0;

  // The ids that `add_special_tokens` puts before a text.
  virtual const std::vector<std::int32_t>& text_begin() const = 0;
  virtual std::int32_t vocab_size() const = 0;  // the highest id + 1
  virtual std::optional<std::int32_t> token_id(std::string_view token) const = 0;
  virtual std::optional<std::string> token_text(std::int32_t id) const = 0;
};

}  // namespace d9d
