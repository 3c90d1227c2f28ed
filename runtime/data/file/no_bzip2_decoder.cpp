#include "runtime/base/error.hpp"
#include "runtime/data/file/decoder.hpp"

namespace d9d {

std::unique_ptr<Decoder> make_bzip2_decoder() {
  throw Error(ErrorKind::input,
              "this build has no library for bzip2 files; unpack it, or install libbz2-dev and build again");
}

}  // namespace d9d
