#pragma once

#include <filesystem>
#include <memory>

#include "runtime/tokenizer/codec/text_codec.hpp"
#include "runtime/tokenizer/codec/token_settings.hpp"

namespace d9d {

// A .model of SentencePiece, through its own library. Its control tokens (`<s>`) and the tokens of `settings` are one
// id wherever they stand; text behind one goes on without the mark that begins a text, unless settings.legacy. The file
// names no tokens around a text, so there are those of `settings` alone. A build without the library refuses the file
// and says what to install.
std::unique_ptr<const TextCodec> read_sentence_piece(const std::filesystem::path& path,
                                                     const TokenSettings& settings);

}  // namespace d9d
