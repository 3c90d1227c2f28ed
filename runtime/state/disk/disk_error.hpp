#pragma once
// What the system answered. Files whose contents are wrong are plain Errors: a search
// for damage must not take a disk that cannot be read for a file that is broken.

#include <string>

#include "runtime/base/error.hpp"

namespace d9d {

class Disk;

class DiskError : public Error {
 public:
  DiskError(const std::string& operation, const std::string& path, int error_number);
  int error_number() const { return error_number_; }
  // The path names nothing that could be read: the file was removed, or replaced by something else.
  bool is_missing() const;

 private:
  int error_number_;
};

// Of the text of a failure, which may come from another process: no room, or no more of it for this user.
bool says_disk_is_full(const std::string& text);

// For what a failure leaves behind: it must not hide the failure, so it warns where it cannot.
void remove_quietly(Disk& disk, const std::string& path);

}  // namespace d9d
