#include "runtime/base/error.hpp"
#include "runtime/data/file/decoder.hpp"

namespace d9d {

std::unique_ptr<Decoder> make_xz_decoder() {
  throw Error(ErrorKind::input,
              "this build has no library for xz files; unpack it, or install liblzma-dev and build again");
}

}  // namespace d9d
