#pragma once
// Reads a file's bytes in order and unpacks them if it is packed. The first bytes tell whether it
// is, not the name.

#include <memory>
#include <string>

#include "runtime/base/file/mapped_file.hpp"
#include "runtime/data/file/decoder.hpp"

namespace d9d {

class DecodedFile {
 public:
  // Input error as MappedFile.
  explicit DecodedFile(const std::string& path);
  bool is_packed() const { return compression_ != Compression::none; }
  // The mapped bytes of a file that is not packed.
  const MappedFile& plain() const { return packed_; }

  // Reads up to out.size() unpacked bytes and returns their number; 0 at the end. Input errors name
  // the file: damaged or cut short.
  std::size_t read(std::span<char> out);
  std::uint64_t packed_size() const { return packed_.bytes().size(); }
  std::uint64_t packed_read() const { return at_; }

 private:
  void begin_stream();
  [[noreturn]] void fail(const std::string& why) const;

  const std::string path_;
  const MappedFile packed_;
  const Compression compression_;
  std::unique_ptr<Decoder> decoder_;  // none between two streams
  std::uint64_t at_ = 0;
};

}  // namespace d9d
