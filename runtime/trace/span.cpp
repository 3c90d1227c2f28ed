#include "runtime/trace/span.hpp"

#include <array>

namespace d9d::trace {
namespace {

constexpr std::array<std::string_view, 8> names{"message", "compute", "collective", "io",
                                                "wait",    "step",    "counter",    "stall"};

}  // namespace

std::string_view name_of(Category category) {
  const auto index = static_cast<std::size_t>(category);
  return index < names.size() ? names[index] : "unknown";
}

std::optional<Category> category_from(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Category>(i);
  }
  return std::nullopt;
}

}  // namespace d9d::trace
