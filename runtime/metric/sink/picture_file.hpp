#pragma once
// Pictures of a run: PNG files beside the numbers.

#include <filesystem>
#include <optional>
#include <string_view>

#include "runtime/metric/sink/tracker.hpp"

namespace d9d {

struct PictureSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};
// Reads the size in the header (PNG, section 11.2.1). Nothing: the bytes are no PNG file.
std::optional<PictureSize> size_of_png(std::string_view png);

// Writes FOLDER/pictures/NAME-STEP.png, in place of what is there,
// and returns its path from FOLDER. Environment error: it cannot be written.
std::filesystem::path write_picture(const std::filesystem::path& folder, const Point& point,
                                    const Picture& picture);

}  // namespace d9d
