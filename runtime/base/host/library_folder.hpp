#pragma once
// Where the libraries lie that are loaded by name.

#include <string>

namespace d9d {

// The path of `file` in the folder of the library that this code is in: libd9d.so, or a program that is linked with it.
// Links are followed. `file` need not exist.
std::string path_beside_this_library(const std::string& file);

}  // namespace d9d
