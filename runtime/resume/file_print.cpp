#include "runtime/resume/file_print.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/state/disk/checksum.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t block_bytes = 64 << 10;

}  // namespace

bool have_same_content(const FilePrint& a, const FilePrint& b) {
  return a.bytes == b.bytes && a.checksum == b.checksum;
}

FilePrint print_of(const Disk& disk, const std::string& path, PrintBlocks blocks,
                   std::optional<std::uint64_t> bytes) {
  const auto file = disk.open(path);
  const std::uint64_t size = std::min(bytes.value_or(file->size()), file->size());
  const auto count = static_cast<std::uint64_t>(blocks);
  Checksum checksum;
  std::vector<char> block;
  const auto add = [&](std::uint64_t begin, std::uint64_t length) {
    block.resize(length);
    file->read(begin, block.data(), block.size());
    checksum.update(block.data(), block.size());
  };
  if (size <= count * block_bytes) {
    add(0, size);
  } else {
    for (std::uint64_t i = 0; i < count; ++i) add((size - block_bytes) / (count - 1) * i, block_bytes);
    add(size - block_bytes, block_bytes);
  }
  return {path, size, checksum.value()};
}

nlohmann::json json_of(const std::vector<FilePrint>& prints) {
  nlohmann::json list = nlohmann::json::array();
  for (const FilePrint& print : prints)
    list.push_back({{"name", print.name}, {"bytes", print.bytes}, {"xxh3", hex_of(print.checksum)}});
  return list;
}

std::vector<FilePrint> prints_from(const nlohmann::json& json) {
  std::vector<FilePrint> prints;
  try {
    for (const nlohmann::json& one : json)
      prints.push_back({one.at("name").get<std::string>(), one.at("bytes").get<std::uint64_t>(),
                        checksum_from(one.at("xxh3").get<std::string>())});
  } catch (const nlohmann::json::exception&) {
    return {};
  } catch (const Error&) {
    return {};
  }
  return prints;
}

}  // namespace d9d
