#include "runtime/state/disk/checksum.hpp"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "runtime/base/error.hpp"

namespace d9d {

struct Checksum::State {
  State() { XXH3_64bits_reset(handle.get()); }

  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> handle{XXH3_createState()};
};

Checksum::Checksum() : state_(std::make_unique<State>()) {}
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::update(const void* data, std::size_t bytes) {
  XXH3_64bits_update(state_->handle.get(), data, bytes);
}

std::uint64_t Checksum::value() const {
  return XXH3_64bits_digest(state_->handle.get());
}

std::uint64_t checksum_of(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t checksum_of(const ReadFile& file, std::uint64_t offset, std::uint64_t bytes) {
  Checksum checksum;
  std::vector<char> buffer(std::min<std::uint64_t>(bytes, 1 << 20));
  while (bytes > 0) {
    const auto part = std::min<std::uint64_t>(bytes, buffer.size());
    file.read(offset, buffer.data(), part);
    checksum.update(buffer.data(), part);
    offset += part;
    bytes -= part;
  }
  return checksum.value();
}

std::string hex_of(std::uint64_t checksum) {
  return fmt::format("{:016x}", checksum);
}

std::uint64_t checksum_from(std::string_view hex) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  D9D_REQUIRE(hex.size() == 16 && status == std::errc() && end == hex.data() + hex.size(),
              "\"{}\" is not a checksum; expected 16 hex digits", hex);
  return value;
}

}  // namespace d9d
