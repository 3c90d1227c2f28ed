#include "actors/core/file_mapped_at.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace d9d {
namespace {

// Reads /proc/self/maps, a letter at a time: "55d0-55e0 r--p 00000000 08:01 1234    /path".
class Maps {
 public:
  Maps() : file_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~Maps() {
    if (file_ >= 0) ::close(file_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;

  // 0 at the end.
  char next() {
    if (at_ == size_) {
      ssize_t read = -1;
      do {
        read = file_ < 0 ? 0 : ::read(file_, bytes_.data(), bytes_.size());
      } while (read < 0 && errno == EINTR);
      if (read <= 0) return 0;
      size_ = static_cast<std::size_t>(read);
      at_ = 0;
    }
    return bytes_[at_++];
  }
  std::uintptr_t hex(char& end) {
    std::uintptr_t value = 0;
    for (end = next();; end = next()) {
      if (end >= '0' && end <= '9') {
        value = value << 4 | static_cast<std::uintptr_t>(end - '0');
      } else if (end >= 'a' && end <= 'f') {
        value = value << 4 | static_cast<std::uintptr_t>(end - 'a' + 10);
      } else {
        return value;
      }
    }
  }

 private:
  const int file_;
  std::array<char, 4096> bytes_{};
  std::size_t at_ = 0, size_ = 0;
};

}  // namespace

std::string_view file_mapped_at(std::uintptr_t address, std::span<char> name) {
  Maps maps;
  while (true) {
    char letter = 0;
    const std::uintptr_t begin = maps.hex(letter);
    if (letter == 0) return {};
    const std::uintptr_t end = maps.hex(letter);
    const bool here = address >= begin && address < end;
    std::size_t size = 0;
    for (letter = maps.next(); letter != 0 && letter != '\n'; letter = maps.next()) {
      if (size == 0 && letter != '/') continue;
      if (here && size < name.size()) name[size++] = letter;
    }
    if (here) return {name.data(), size};
  }
}

}  // namespace d9d
