#include "runtime/data/corpus/synced_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d {

void fail_to_write(const std::string& path) {
  throw Error(ErrorKind::environment, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

std::ofstream open_new(const std::string& path) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) fail_to_write(path);
  return out;
}

void close_synced(std::ofstream& out, const std::string& path) {
  out.close();
  if (!out) fail_to_write(path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  if (file >= 0) ::close(file);
  if (!synced) fail_to_write(path);
}

}  // namespace d9d
