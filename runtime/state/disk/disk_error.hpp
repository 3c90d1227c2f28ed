#pragma once
// A failure of the system. A file whose contents are wrong is a plain Error instead: a search for
// damage must not mistake an unreadable disk for a broken file.

#include <string>

#include "runtime/base/error.hpp"

namespace d9d {

class Disk;

class DiskError : public Error {
 public:
  DiskError(const std::string& operation, const std::string& path, int error_number);
  int error_number() const { return error_number_; }
  // Whether the path does not exist or is something else than expected: it was removed or replaced.
  bool is_missing() const;

 private:
  int error_number_;
};

// Whether the text of a failure, which may come from another process, says that the disk is full or
// that the user's quota is used up.
bool says_disk_is_full(const std::string& text);

// Removes a file that a failure has left. Only warns if that fails too, so that the first failure
// is the one reported.
void remove_quietly(Disk& disk, const std::string& path);

}  // namespace d9d
