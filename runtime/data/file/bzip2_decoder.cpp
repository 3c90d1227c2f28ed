#include <bzlib.h>

#include <algorithm>
#include <limits>

#include "runtime/base/error.hpp"
#include "runtime/data/file/decoder.hpp"

namespace d9d {
namespace {

constexpr std::size_t bzip2_at_once = std::numeric_limits<unsigned>::max();

class Bzip2Decoder final : public Decoder {
 public:
  Bzip2Decoder() { D9D_CHECK(::BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK, "no memory for bzip2"); }
  ~Bzip2Decoder() override { ::BZ2_bzDecompressEnd(&stream_); }
  Bzip2Decoder(const Bzip2Decoder&) = delete;
  Bzip2Decoder& operator=(const Bzip2Decoder&) = delete;

  Step step(std::span<const std::byte> in, std::span<char> out) override {
    in = in.first(std::min(in.size(), bzip2_at_once));
    out = out.first(std::min(out.size(), bzip2_at_once));
    // The library reads from a pointer to what is not const.
    stream_.next_in = const_cast<char*>(reinterpret_cast<const char*>(in.data()));
    stream_.avail_in = static_cast<unsigned>(in.size());
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<unsigned>(out.size());
    const int status = ::BZ2_bzDecompress(&stream_);
    D9D_REQUIRE(status == BZ_OK || status == BZ_STREAM_END, "damaged bytes (error {} of the library)",
                status);
    return {in.size() - stream_.avail_in, out.size() - stream_.avail_out, status == BZ_STREAM_END};
  }

 private:
  bz_stream stream_{};
};

}  // namespace

std::unique_ptr<Decoder> make_bzip2_decoder() {
  return std::make_unique<Bzip2Decoder>();
}

}  // namespace d9d
