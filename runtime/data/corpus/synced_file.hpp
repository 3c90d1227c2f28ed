#pragma once
// Files that are written once and are whole on the disk before they get their name. Errors are of the environment.

#include <fstream>
#include <string>

namespace d9d {

[[noreturn]] void fail_to_write(const std::string& path);
// What is there is replaced.
std::ofstream open_new(const std::string& path);
// To the disk itself, so that a rename after it never shows half a file.
void close_synced(std::ofstream& out, const std::string& path);

}  // namespace d9d
