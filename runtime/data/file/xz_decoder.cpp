#include <lzma.h>

#include "runtime/base/error.hpp"
#include "runtime/data/file/decoder.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t xz_memory_max = std::uint64_t{1} << 30;

class XzDecoder final : public Decoder {
 public:
  XzDecoder() { D9D_CHECK(::lzma_stream_decoder(&stream_, xz_memory_max, 0) == LZMA_OK, "no memory for xz"); }
  ~XzDecoder() override { ::lzma_end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;

  Step step(std::span<const std::byte> in, std::span<char> out) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret status = ::lzma_code(&stream_, LZMA_RUN);
    D9D_REQUIRE(status != LZMA_MEMLIMIT_ERROR,
                "it asks for more than 1 GiB of memory; pack it anew with xz -6");
    D9D_REQUIRE(status == LZMA_OK || status == LZMA_STREAM_END || status == LZMA_BUF_ERROR,
                "damaged bytes (error {} of the library)", static_cast<int>(status));
    return {in.size() - stream_.avail_in, out.size() - stream_.avail_out, status == LZMA_STREAM_END};
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

}  // namespace

std::unique_ptr<Decoder> make_xz_decoder() {
  return std::make_unique<XzDecoder>();
}

}  // namespace d9d
