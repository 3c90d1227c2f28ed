#include "runtime/base/error.hpp"
#include "runtime/data/file/decoder.hpp"

namespace d9d {

std::unique_ptr<Decoder> make_zstd_decoder() {
  throw Error(ErrorKind::input,
              "this build has no library for zstd files; unpack it, or install libzstd-dev and build again");
}

}  // namespace d9d
