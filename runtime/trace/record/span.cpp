#include "runtime/trace/record/span.hpp"

#include <array>
#include <utility>

namespace d9d::trace {
namespace {

constexpr std::array names{
    std::pair{Category::message, std::string_view("message")},
    std::pair{Category::compute, std::string_view("compute")},
    std::pair{Category::collective, std::string_view("collective")},
    std::pair{Category::io, std::string_view("io")},
    std::pair{Category::wait, std::string_view("wait")},
    std::pair{Category::step, std::string_view("step")},
    std::pair{Category::counter, std::string_view("counter")},
    std::pair{Category::stall, std::string_view("stall")},
    std::pair{Category::launch, std::string_view("launch")},
    std::pair{Category::kernel, std::string_view("kernel")},
};

}  // namespace

std::string_view name_of(Category category) {
  for (const auto& [known, name] : names) {
    if (known == category) return name;
  }
  return "unknown";
}

std::optional<Category> category_from(std::string_view name) {
  for (const auto& [category, known] : names) {
    if (known == name) return category;
  }
  return std::nullopt;
}

}  // namespace d9d::trace
