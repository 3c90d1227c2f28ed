#include "runtime/data/file/decoded_file.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

DecodedFile::DecodedFile(const std::string& path)
    : path_(path), packed_(path), compression_(compression_of(packed_.text())) {}

void DecodedFile::fail(const std::string& why) const {
  throw Error(ErrorKind::input, fmt::format("{}: it begins as a {} file, but at byte {} of {}: {}", path_,
                                            name_of(compression_), at_, packed_size(), why));
}

// After a stream there may be another one, or zeros that fill a block up.
void DecodedFile::begin_stream() {
  const std::string_view rest = packed_.text().substr(at_);
  if (rest.find_first_not_of('\0') == std::string_view::npos) {
    at_ = packed_size();
    return;
  }
  if (compression_of(rest) != compression_) fail("other bytes after the packed ones; is it whole?");
  try {
    decoder_ = make_decoder(compression_);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), path_);
  }
}

std::size_t DecodedFile::read(std::span<char> out) {
  if (!is_packed()) {
    const auto bytes = packed_.text().substr(at_, out.size());
    std::copy(bytes.begin(), bytes.end(), out.begin());
    at_ += bytes.size();
    return bytes.size();
  }
  std::size_t written = 0;
  while (written < out.size()) {
    if (!decoder_ && at_ < packed_size()) begin_stream();
    if (!decoder_) break;
    Decoder::Step step;
    try {
      step = decoder_->step(packed_.bytes().subspan(at_), out.subspan(written));
    } catch (const Error& error) {
      fail(error.what());
    }
    at_ += step.read;
    written += step.written;
    if (step.ended) {
      decoder_.reset();
    } else if (step.read == 0 && step.written == 0) {
      fail("it ends within the packed bytes; it is cut short");
    }
  }
  return written;
}

}  // namespace d9d
