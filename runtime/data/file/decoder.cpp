#include "runtime/data/file/decoder.hpp"

#include <zlib.h>

#include <algorithm>
#include <boost/describe/enum_to_string.hpp>
#include <limits>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr int gzip_window = 15 + 16;  // the widest window, with gzip's header and checksum
constexpr std::size_t gzip_at_once = std::numeric_limits<uInt>::max();

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() { D9D_CHECK(::inflateInit2(&stream_, gzip_window) == Z_OK, "no memory for zlib"); }
  ~GzipDecoder() override { ::inflateEnd(&stream_); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  Step step(std::span<const std::byte> in, std::span<char> out) override {
    in = in.first(std::min(in.size(), gzip_at_once));
    out = out.first(std::min(out.size(), gzip_at_once));
    // zlib reads from a pointer to what is not const.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    D9D_REQUIRE(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, "{}",
                stream_.msg != nullptr ? stream_.msg : "damaged bytes");
    return {in.size() - stream_.avail_in, out.size() - stream_.avail_out, status == Z_STREAM_END};
  }

 private:
  z_stream stream_{};
};

}  // namespace

Compression compression_of(std::string_view first) {
  using namespace std::string_view_literals;
  if (first.starts_with("\x1f\x8b\x08"sv)) return Compression::gzip;
  if (first.starts_with("\x28\xb5\x2f\xfd"sv)) return Compression::zstd;
  // A skippable frame in front of the others, as pzstd writes it.
  if (first.size() >= 4 && (first[0] & 0xf0) == 0x50 && first.substr(1, 3) == "\x2a\x4d\x18"sv)
    return Compression::zstd;
  if (first.size() >= 4 && first.starts_with("BZh"sv) && first[3] >= '1' && first[3] <= '9' &&
      first.substr(4).starts_with("1AY&SY"sv))
    return Compression::bzip2;
  if (first.starts_with("\xfd\x37zXZ\x00"sv)) return Compression::xz;
  return Compression::none;
}

const char* name_of(Compression compression) {
  return boost::describe::enum_to_string(compression, "");
}

std::unique_ptr<Decoder> make_decoder(Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return std::make_unique<GzipDecoder>();
    case Compression::zstd:
      return make_zstd_decoder();
    case Compression::bzip2:
      return make_bzip2_decoder();
    case Compression::xz:
      return make_xz_decoder();
    case Compression::none:
      break;
  }
  D9D_CHECK(false, "a decoder of plain bytes");
}

}  // namespace d9d
