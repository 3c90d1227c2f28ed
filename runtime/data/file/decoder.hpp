#pragma once
// Unpacks the bytes of gzip, zstd, bzip2 and xz files, a piece at a time and in bounded memory.

#include <boost/describe/enum.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace d9d {

enum class Compression { none, gzip, zstd, bzip2, xz };
BOOST_DESCRIBE_ENUM(Compression, none, gzip, zstd, bzip2, xz)

// Recognises a packing by the first bytes of a file; the name does not count.
Compression compression_of(std::string_view first);
const char* name_of(Compression compression);

// Unpacks one stream. A file may have several, one after the other.
class Decoder {
 public:
  struct Step {
    std::size_t read = 0;
    std::size_t written = 0;
    bool ended = false;  // the stream has ended
  };
  virtual ~Decoder() = default;
  // Input error, without the file's name, for damaged bytes.
  virtual Step step(std::span<const std::byte> in, std::span<char> out) = 0;
};

std::unique_ptr<Decoder> make_decoder(Compression compression);

// Decoders of optional libraries. A build without one refuses its files and names the library.
std::unique_ptr<Decoder> make_zstd_decoder();
std::unique_ptr<Decoder> make_bzip2_decoder();
std::unique_ptr<Decoder> make_xz_decoder();

}  // namespace d9d
