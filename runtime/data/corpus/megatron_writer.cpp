#include "runtime/data/corpus/megatron_writer.hpp"

#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/data/corpus/synced_file.hpp"

namespace d9d {
namespace {

constexpr std::string_view magic{"MMIDIDX\x00\x00", 9};
constexpr std::uint64_t version = 1;

template <class Value>
void put(std::ofstream& out, const Value& value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

MegatronWriter::MegatronWriter(std::string prefix, std::int64_t vocab_size)
    : prefix_(std::move(prefix)),
      type_(vocab_size <= 0x10000 ? NpyType::uint16 : NpyType::int32),
      tokens_(open_new(prefix_ + ".bin")) {}

void MegatronWriter::add_document(std::span<const std::int32_t> ids) {
  if (ids.empty()) return;
  D9D_REQUIRE(std::in_range<std::int32_t>(ids.size()), "a document of {} tokens; the format holds up to 2^31",
              ids.size());
  if (type_ == NpyType::uint16) {
    narrow_.assign(ids.begin(), ids.end());
    tokens_.write(reinterpret_cast<const char*>(narrow_.data()),
                  static_cast<std::streamsize>(narrow_.size() * sizeof narrow_[0]));
  } else {
    tokens_.write(reinterpret_cast<const char*>(ids.data()), static_cast<std::streamsize>(ids.size_bytes()));
  }
  if (!tokens_) fail_to_write(prefix_ + ".bin");
  sizes_.push_back(static_cast<std::int32_t>(ids.size()));
  num_tokens_ += ids.size();
}

void MegatronWriter::finish() {
  close_synced(tokens_, prefix_ + ".bin");
  write_index();
}

void MegatronWriter::write_index() {
  const std::string path = prefix_ + ".idx";
  std::ofstream out = open_new(path);
  out.write(magic.data(), static_cast<std::streamsize>(magic.size()));
  put(out, version);
  put(out, static_cast<std::uint8_t>(type_ == NpyType::uint16 ? 8 : 4));
  put(out, std::uint64_t{sizes_.size()});
  put(out, std::uint64_t{sizes_.size() + 1});
  for (const std::int32_t size : sizes_) put(out, size);
  std::int64_t offset = 0;
  for (const std::int32_t size : sizes_) {
    put(out, offset);
    offset += std::int64_t{size} * static_cast<std::int64_t>(bytes_of(type_));
  }
  for (std::uint64_t i = 0; i <= sizes_.size(); ++i) put(out, i);
  close_synced(out, path);
}

}  // namespace d9d
