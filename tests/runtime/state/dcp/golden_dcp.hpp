#pragma once
// The committed checkpoints of tests/golden/state_dcp, unpacked into a folder.

#include <zlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

namespace d9d::test {

inline std::string golden_dcp(const std::string& name) {
  return std::string(D9D_SOURCE_DIR) + "/tests/golden/state_dcp/" + name;
}

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void set_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// Replaces all of them by a text of the same length; `before` has to be there.
inline void replace_bytes(const std::filesystem::path& file, const std::string& before,
                          const std::string& after) {
  std::string bytes = bytes_of(file);
  std::size_t at = bytes.find(before);
  if (before.size() != after.size() || at == std::string::npos) std::abort();
  for (; at != std::string::npos; at = bytes.find(before, at)) bytes.replace(at, after.size(), after);
  set_bytes(file, bytes);
}

// "sparse" or "dense".
inline void unpack_dcp(const std::string& name, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& packed : std::filesystem::directory_iterator(golden_dcp(name))) {
    const std::string stem = packed.path().stem();
    std::ofstream out(folder / (stem == "metadata" ? "." + stem : stem), std::ios::binary);
    gzFile in = gzopen(packed.path().c_str(), "rb");
    std::array<char, 1 << 14> piece{};
    for (int got = 0; (got = gzread(in, piece.data(), piece.size())) > 0;) out.write(piece.data(), got);
    gzclose(in);
  }
}

}  // namespace d9d::test
