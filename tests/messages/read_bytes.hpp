#pragma once
// Bytes from a stranger, read to the last field: what the fuzzer and the tests do with one input.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace d9d::test {

struct ReadResult {
  std::size_t refused = 0;  // 1: Refused or a reader's exception
  std::string text;         // of the fields, otherwise
};

// Opens the frame, follows every pointer its type's schema knows. Any exception but a refusal gets out.
ReadResult read_bytes(std::span<const std::byte> bytes);

std::vector<std::byte> bytes_of_file(const std::filesystem::path& path);

}  // namespace d9d::test
