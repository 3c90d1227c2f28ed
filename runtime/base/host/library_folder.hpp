#pragma once
// Finds the libraries that are loaded by name.

#include <string>

namespace d9d {

// Returns the path of `file` in the folder of the library with this code: libd9d.so, or a program
// that is linked with it. Follows links. `file` need not exist.
std::string path_beside_this_library(const std::string& file);

}  // namespace d9d
