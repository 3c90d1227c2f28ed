#include "runtime/metric/sink/picture_file.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n";
constexpr std::size_t header_at = 12;  // after the signature and the length of the first chunk
constexpr std::size_t header_end = 24;

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(0, 4)) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

// Names come from plugins: nothing of them may lead elsewhere.
std::string file_name(const Point& point) {
  std::string name = flat_name(point);
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  std::ranges::replace_if(
      name, [&](char c) { return !is_plain(static_cast<unsigned char>(c)); }, '_');
  return fmt::format("{}-{}.png", name.substr(0, 150), point.step);
}

}  // namespace

std::optional<PictureSize> size_of_png(std::string_view png) {
  if (!png.starts_with(png_signature) || png.size() < header_end || png.substr(header_at, 4) != "IHDR") {
    return std::nullopt;
  }
  return PictureSize{big_endian(png.substr(header_at + 4)), big_endian(png.substr(header_at + 8))};
}

std::filesystem::path write_picture(const std::filesystem::path& folder, const Point& point,
                                    const Picture& picture) {
  const std::filesystem::path path = std::filesystem::path("pictures") / file_name(point);
  std::error_code ignored;
  std::filesystem::create_directories(folder / "pictures", ignored);
  std::ofstream out(folder / path, std::ios::binary | std::ios::trunc);
  out << picture.png;
  out.close();
  if (!out) {
    throw Error(ErrorKind::environment, fmt::format("cannot write {}", (folder / path).string()));
  }
  return path;
}

}  // namespace d9d
