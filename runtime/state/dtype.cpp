#include "runtime/state/dtype.hpp"

#include <array>
#include <cstddef>

namespace d9d {
namespace {

struct Row {
  std::string_view name;
  std::int64_t size;
};
// In the order of the enum.
constexpr std::array<Row, 10> rows = {{{"F64", 8},
                                       {"F32", 4},
                                       {"F16", 2},
                                       {"BF16", 2},
                                       {"I64", 8},
                                       {"I32", 4},
                                       {"I16", 2},
                                       {"I8", 1},
                                       {"U8", 1},
                                       {"BOOL", 1}}};

}  // namespace

std::int64_t size_of(Dtype dtype) {
  return rows[static_cast<std::size_t>(dtype)].size;
}

std::string_view name_of(Dtype dtype) {
  return rows[static_cast<std::size_t>(dtype)].name;
}

std::optional<Dtype> dtype_from(std::string_view name) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].name == name) return static_cast<Dtype>(i);
  return std::nullopt;
}

}  // namespace d9d
