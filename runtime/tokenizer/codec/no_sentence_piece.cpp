// In the place of sentence_piece.cpp where CMake does not find the library.
#include "runtime/base/error.hpp"
#include "runtime/tokenizer/codec/sentence_piece.hpp"

namespace d9d {

std::unique_ptr<const TextCodec> read_sentence_piece(const std::filesystem::path& path,
                                                     const TokenSettings& /*settings*/) {
  throw Error(ErrorKind::input,
              fmt::format("{}: this d9d-node was built without the sentencepiece library, which reads such "
                          "files; install libsentencepiece-dev and build again, or name a tokenizer.json",
                          path.string()));
}

}  // namespace d9d
