#include <zstd.h>

#include "runtime/base/error.hpp"
#include "runtime/data/file/decoder.hpp"

namespace d9d {
namespace {

constexpr int window_log_max = 30;  // the memory that a frame may ask for: 1 GiB

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(::ZSTD_createDStream()) {
    D9D_CHECK(stream_ != nullptr, "no memory for zstd");
    ::ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, window_log_max);
  }
  ~ZstdDecoder() override { ::ZSTD_freeDStream(stream_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  Step step(std::span<const std::byte> in, std::span<char> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer into{out.data(), out.size(), 0};
    const std::size_t status = ::ZSTD_decompressStream(stream_, &into, &from);
    D9D_REQUIRE(::ZSTD_isError(status) == 0, "{}", ::ZSTD_getErrorName(status));
    return {from.pos, into.pos, status == 0};
  }

 private:
  ZSTD_DStream* const stream_;
};

}  // namespace

std::unique_ptr<Decoder> make_zstd_decoder() {
  return std::make_unique<ZstdDecoder>();
}

}  // namespace d9d
