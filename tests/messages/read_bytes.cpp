#include "tests/messages/read_bytes.hpp"

#include <kj/exception.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/messages/every_message.hpp"

namespace d9d::test {

ReadResult read_bytes(std::span<const std::byte> bytes) {
  try {
    const Frame frame = Frame::from_bytes(bytes, std::size_t{1} << 20);
    const Decoded decoded(frame);
    const Header header = decoded.header();
    std::string text = to_string(header.sender) + ">" + to_string(header.receiver) + " ";
    const MessageKind* kind = kind_of(decoded.type());
    if (kind == nullptr) return {1, {}};
    return {0, text + dump(decoded, *kind)};
  } catch (const Refused&) {
    return {1, {}};
  } catch (const kj::Exception&) {
    return {1, {}};
  }
}

std::vector<std::byte> bytes_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace d9d::test
