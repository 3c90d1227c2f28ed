#pragma once
// By what a file is known again without reading all of it: its size and a checksum of some of its blocks, which are all of
// a small file. A change of other bytes at the same size is not seen.

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

// How many blocks of a file are looked at: its head and its tail, or as well some spread between them, as in weights,
// whose head is a list of names.
enum class PrintBlocks { ends = 2, spread = 16 };

// Of the first `bytes` of the file; nothing: of all of it. Environment error of the disk.
FilePrint print_of(const Disk& disk, const std::string& path, PrintBlocks blocks,
                   std::optional<std::uint64_t> bytes = std::nullopt);

// [{"name", "bytes", "xxh3"}, ...]
nlohmann::json json_of(const std::vector<FilePrint>& prints);
// Empty where that is no such list.
std::vector<FilePrint> prints_from(const nlohmann::json& json);

}  // namespace d9d
