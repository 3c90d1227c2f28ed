#pragma once
// Writes files that must be complete on the disk before they get their
// final name. Environment errors.

#include <fstream>
#include <string>

namespace d9d {

[[noreturn]] void fail_to_write(const std::string& path);
// Opens a file for writing and replaces an existing one.
std::ofstream open_new(const std::string& path);
// Closes the file after its bytes are on the disk, so that a rename afterwards never
// shows half a file.
void close_synced(std::ofstream& out, const std::string& path);

}  // namespace d9d
