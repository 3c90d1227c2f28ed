#include "runtime/state/dcp/zip_archive.hpp"

#include <zlib.h>

#include <algorithm>
#include <string_view>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3 and 4.5.3.
constexpr std::string_view end_mark = "PK\x05\x06", wide_end_mark = "PK\x06\x06", locator_mark = "PK\x06\x07";
constexpr std::string_view entry_mark = "PK\x01\x02", header_mark = "PK\x03\x04";
constexpr std::size_t end_bytes = 22, wide_end_bytes = 56, locator_bytes = 20, entry_bytes = 46,
                      header_bytes = 30;
constexpr std::uint64_t in_wide_field = 0xffffffff;

std::uint64_t zip_number(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

}  // namespace

ZipArchive::ZipArchive(const ReadFile& file, FileRange range, std::string where)
    : file_(file), range_(range), where_(std::move(where)) {
  if (range_.offset > file_.size() || range_.length > file_.size() - range_.offset)
    refuse(fmt::format("its bytes {} to {} are outside of {}, which has {}; is the file cut?", range_.offset,
                       range_.offset + range_.length, file_.path(), file_.size()));
  read_directory(find_directory());
}

std::string ZipArchive::read(const std::string& name) const {
  std::string text(size_of(name), '\0');
  read_into(name, text.data());
  return text;
}

void ZipArchive::read_into(const std::string& name, void* into) const {
  const Entry& found = entry(name);
  file_.read(range_.offset + found.data.offset, into, found.data.length);
  const auto checksum =
      static_cast<std::uint32_t>(crc32_z(0, static_cast<const Bytef*>(into), found.data.length));
  if (found.checksum != 0 && checksum != found.checksum)
    throw Error(
        ErrorKind::environment,
        fmt::format("{}: the bytes of {} in {} do not match their checksum: the file is damaged; copy it "
                    "again, or take an earlier checkpoint",
                    where_, name, file_.path()));
}

ZipArchive::Directory ZipArchive::find_directory() const {
  if (range_.length < end_bytes || bytes(0, header_mark.size()) != header_mark)
    refuse("it is no archive that torch.save wrote; was it saved in another format, or compressed?");
  const std::uint64_t at = range_.length - end_bytes;
  const std::string end = bytes(at, end_bytes);
  if (!end.starts_with(end_mark)) refuse("its end is missing; is the file cut?");
  Directory found{{zip_number(end, 16, 4), zip_number(end, 12, 4)}, zip_number(end, 10, 2)};
  if (at < locator_bytes) return found;
  const std::string locator = bytes(at - locator_bytes, locator_bytes);
  if (!locator.starts_with(locator_mark)) return found;
  const std::string wide = bytes(zip_number(locator, 8, 8), wide_end_bytes);
  if (!wide.starts_with(wide_end_mark)) refuse("its directory is not where it says");
  return {{zip_number(wide, 48, 8), zip_number(wide, 40, 8)}, zip_number(wide, 32, 8)};
}

void ZipArchive::read_directory(const Directory& directory) {
  const std::string all = bytes(directory.bytes.offset, directory.bytes.length);
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    const std::string_view rest = std::string_view(all).substr(std::min(at, all.size()));
    if (rest.size() < entry_bytes || !rest.starts_with(entry_mark)) refuse("its directory is cut");
    const std::uint64_t name_bytes = zip_number(rest, 28, 2), extra_bytes = zip_number(rest, 30, 2);
    const std::uint64_t comment_bytes = zip_number(rest, 32, 2);
    if (entry_bytes + name_bytes + extra_bytes + comment_bytes > rest.size()) refuse("its directory is cut");
    if (zip_number(rest, 10, 2) != 0 || (zip_number(rest, 8, 2) & 1) != 0)
      refuse("it is compressed or encrypted, and torch.save does neither");
    std::uint64_t stored = zip_number(rest, 20, 4), length = zip_number(rest, 24, 4);
    std::uint64_t header = zip_number(rest, 42, 4);
    std::string_view extra = rest.substr(entry_bytes + name_bytes, extra_bytes);
    while (extra.size() >= 4) {
      const std::uint64_t kind = zip_number(extra, 0, 2);
      std::string_view fields = extra.substr(4, zip_number(extra, 2, 2));
      extra.remove_prefix(4 + fields.size());
      if (kind != 1) continue;
      for (std::uint64_t* field : {&length, &stored, &header}) {
        if (*field != in_wide_field || fields.size() < 8) continue;
        *field = zip_number(fields, 0, 8);
        fields.remove_prefix(8);
      }
    }
    if (stored != length) refuse("it is compressed, and torch.save does not compress");
    const std::string name(rest.substr(entry_bytes, name_bytes));
    entries_[name.substr(name.find('/') + 1)] = {data_of(header, length),
                                                 static_cast<std::uint32_t>(zip_number(rest, 16, 4))};
    at += entry_bytes + name_bytes + extra_bytes + comment_bytes;
  }
}

FileRange ZipArchive::data_of(std::uint64_t header, std::uint64_t length) const {
  const std::string head = bytes(header, header_bytes);
  if (!head.starts_with(header_mark)) refuse("an entry is not where its directory says");
  const std::uint64_t begin = header + header_bytes + zip_number(head, 26, 2) + zip_number(head, 28, 2);
  if (begin > range_.length || length > range_.length - begin) refuse("an entry reaches beyond its end");
  return {begin, length};
}

const ZipArchive::Entry& ZipArchive::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse(fmt::format("it has no entry {}", name));
  return found->second;
}

std::string ZipArchive::bytes(std::uint64_t offset, std::uint64_t length) const {
  if (offset > range_.length || length > range_.length - offset)
    refuse("it points beyond its end; is the file cut?");
  std::string text(length, '\0');
  file_.read(range_.offset + offset, text.data(), length);
  return text;
}

void ZipArchive::refuse(const std::string& why) const {
  throw Error(ErrorKind::input, fmt::format("{} in {}: {}", where_, file_.path(), why));
}

}  // namespace d9d
