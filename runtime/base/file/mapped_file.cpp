#include "runtime/base/file/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // Opening a pipe would wait for somebody who writes into it.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  D9D_REQUIRE(file.number >= 0, "cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  D9D_REQUIRE(::fstat(file.number, &status) == 0, "cannot look at {}: {}", path.string(),
              std::strerror(errno));
  D9D_REQUIRE(!S_ISFIFO(status.st_mode),
              "{} is a pipe, expected a file: it is read more than once; write it to a file", path.string());
  D9D_REQUIRE(S_ISREG(status.st_mode), "{} is not a plain file", path.string());
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (mapped == MAP_FAILED) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot map {} ({} bytes): {}", path.string(), size_, std::strerror(errno)));
  }
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

}  // namespace d9d
