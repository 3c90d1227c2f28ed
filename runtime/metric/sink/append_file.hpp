#pragma once
// A file that grows at its end while others read it. Every write goes to the system at once, so a
// killed process loses nothing that it has written. Environment errors name the path.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace d9d {

class AppendFile {
 public:
  enum class Mode { create_new, keep };  // create_new: the file must not exist

  // Makes the parent folder.
  AppendFile(std::filesystem::path path, Mode mode);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Replaces everything from `offset` on by `text`. A reader sees the old or the new bytes, because
  // the file is cut only after the new bytes are written. After a failure the file ends at
  // `offset`, so no reader sees half a line.
  void replace_tail(std::uint64_t offset, std::string_view text);
  void append(std::string_view text) { replace_tail(size_, text); }

  // Whether another program has moved or removed the file or changed its size. Further writes would
  // then miss the file, or leave a hole.
  bool is_disturbed() const;
  // Continues at the end of the file that has the name now; makes a new one if there is none.
  void reopen();

  std::uint64_t size() const { return size_; }
  void close();
  bool is_open() const { return descriptor_ >= 0; }
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// The whole file, empty when there is none.
std::string read_whole_file(const std::filesystem::path& path);
// Writes a file under a temporary name and renames it: a reader sees the old or the new file.
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace d9d
