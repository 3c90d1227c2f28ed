#pragma once

#include <filesystem>
#include <memory>

#include "runtime/tokenizer/codec/text_codec.hpp"
#include "runtime/tokenizer/codec/token_settings.hpp"

namespace d9d {

// Reads a SentencePiece .model with SentencePiece's own library. Its control tokens (`<s>`) and the
// tokens of `settings` are one id wherever they stand. Text after such a token gets no mark of a
// text's begin, unless settings.legacy. The file names no tokens to put around a text, so only
// those of `settings` are. A build without the library refuses the file and says what to install.
std::unique_ptr<const TextCodec> read_sentence_piece(const std::filesystem::path& path,
                                                     const TokenSettings& settings);

}  // namespace d9d
