#pragma once
// Finds the libraries that are loaded by name.

#include <string>

namespace d9d {

// Returns the path of `file` in the folder of the library with this code: libd9d.so, or a program
// that is linked with it. Follows links. `file` need not exist.
std::string path_beside_this_library(const std::string& file);

// dlopen() of `path`, which stays loaded. If that fails, once more with `needed`: a library that it names without a
// path, as a pattern below the folder of packages that has LibTorch ("pyarrow/libparquet.so."). Null: see dlerror().
void* load_library(const std::string& path, const std::string& needed);

}  // namespace d9d
