#include "runtime/data/table/arrow_file.hpp"

#include <algorithm>
#include <filesystem>

namespace d9d {

bool is_wanted(const std::vector<std::string>& columns, const std::string& name) {
  return columns.empty() || std::ranges::find(columns, name) != columns.end();
}

std::string unreadable(const std::string& file, const std::string& why) {
  return fmt::format(
      "{}: {}; does pyarrow read this file? If not, write it anew, else in another compression", file, why);
}

void require_ok(const arrow::Status& status, const std::string& file) {
  if (status.ok()) return;
  if (status.IsOutOfMemory())
    throw Error(ErrorKind::environment, fmt::format("{}: {}", file, status.message()));
  throw Error(ErrorKind::input, unreadable(file, status.message()));
}

std::shared_ptr<arrow::io::MemoryMappedFile> map_table(const std::string& file) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(file, ignored).type();
  D9D_REQUIRE(kind != std::filesystem::file_type::fifo,
              "{} is a pipe, expected a file: it is read more than once; write it to a file", file);
  return taken(arrow::io::MemoryMappedFile::Open(file, arrow::io::FileMode::READ), file);
}

}  // namespace d9d
