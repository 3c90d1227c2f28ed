#pragma once
// SHA-256 (OpenSSL), for naming contents.

#include <filesystem>
#include <string>
#include <string_view>

namespace d9d {

// Returns 64 hexadecimal digits.
std::string sha256_of(std::string_view bytes);
std::string sha256_of_file(const std::filesystem::path& path);  // errors as MappedFile

}  // namespace d9d
