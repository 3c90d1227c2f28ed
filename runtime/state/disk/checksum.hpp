#pragma once
// XXH3, 64 bits (https://github.com/Cyan4973/xxHash): finds damage, not malice. Text form: 16 hex digits.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;

  void update(const void* data, std::size_t bytes);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t checksum_of(std::string_view bytes);
// The checksum of a part of a file, read in pieces of one MiB.
std::uint64_t checksum_of(const ReadFile& file, std::uint64_t offset, std::uint64_t bytes);

std::string hex_of(std::uint64_t checksum);
// Parses the text form. Input error unless it is 16 hex digits.
std::uint64_t checksum_from(std::string_view hex);

}  // namespace d9d
