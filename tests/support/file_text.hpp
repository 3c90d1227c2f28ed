#pragma once
// What is in a file; nothing where there is none.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace d9d::test {

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace d9d::test
