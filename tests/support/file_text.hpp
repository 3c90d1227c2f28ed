#pragma once
// What is in a file; nothing where there is none.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace d9d::test {

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Bytes of rank 0's tensors in the folder of a checkpoint.
inline std::string shard_of_rank_0(const std::filesystem::path& checkpoint) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(checkpoint))
    if (entry.path().filename().string().starts_with("rank-00000")) return text_of_file(entry.path());
  throw std::runtime_error("no shard of rank 0 in " + checkpoint.string());
}

}  // namespace d9d::test
