#pragma once

#include <filesystem>
#include <memory>

#include "runtime/data/tokenizer/text_codec.hpp"

namespace d9d {

// A .model of SentencePiece, through its own library. The file names no tokens around a text, so there are
// none. A build without the library refuses the file and says what to install.
std::unique_ptr<const TextCodec> read_sentence_piece(const std::filesystem::path& path);

}  // namespace d9d
