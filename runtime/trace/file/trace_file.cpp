#include "runtime/trace/file/trace_file.hpp"

#include <system_error>

#include "runtime/base/error.hpp"

namespace d9d::trace {
namespace {

namespace fs = std::filesystem;

void move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return;
  throw Error(ErrorKind::environment,
              fmt::format("cannot rename {} to {}: {}", from.string(), to.string(), error.message()));
}

fs::path next_number(const fs::path& directory) {
  std::error_code ignored;
  for (int number = 1;; ++number) {
    fs::path path = directory / fmt::format("trace-{}.json.gz", number);
    if (!fs::exists(path, ignored)) return path;
  }
}

}  // namespace

std::filesystem::path TraceFile::draft() const {
  return directory_ / (label_.empty() ? "new.trace.part" : label_ + ".trace.part");
}

std::filesystem::path TraceFile::publish() const {
  const fs::path path = directory_ / (label_.empty() ? "trace.json.gz" : label_ + ".trace.json.gz");
  std::error_code ignored;
  if (label_.empty() && fs::exists(path, ignored)) move_file(path, next_number(directory_));
  move_file(draft(), path);
  return path;
}

}  // namespace d9d::trace
