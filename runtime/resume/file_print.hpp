#pragma once
// Identifies a file without reading all of it: by its size and a checksum of some of its blocks (of all, if
// it is small). Does not see a change of other bytes at the same size.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

struct FilePrint {
  std::string name;  // as the job names it
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

// The number of blocks to read: the head and the tail, or also blocks spread between them (for weights,
// whose head is a list of names).
enum class PrintBlocks { ends = 2, spread = 16 };

// Whether the two have the same content, whatever they are called.
bool have_same_content(const FilePrint& a, const FilePrint& b);

// Makes the print of the first `bytes` of the file, or of the whole file. Environment error of the disk.
FilePrint print_of(const Disk& disk, const std::string& path, PrintBlocks blocks,
                   std::optional<std::uint64_t> bytes = std::nullopt);

// [{"name", "bytes", "xxh3"}, ...]
nlohmann::json json_of(const std::vector<FilePrint>& prints);
// Returns no prints when `json` is no such list.
std::vector<FilePrint> prints_from(const nlohmann::json& json);

}  // namespace d9d
