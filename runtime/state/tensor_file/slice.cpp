#include "runtime/state/tensor_file/slice.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::int64_t number_from(std::string_view text, std::string_view all) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  D9D_REQUIRE(status == std::errc() && end == text.data() + text.size() && !text.empty() && value >= 0,
              "\"{}\" is not a slice; expected begin:end per dim, such as 0:128,0:256", all);
  return value;
}

}  // namespace

std::int64_t num_elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  return count;
}

bool is_sane(const Shape& shape, std::int64_t element_bytes) {
  auto room = std::numeric_limits<std::int64_t>::max() / element_bytes;
  for (const auto size : shape) {
    if (size < 0 || size > room) return false;
    room /= std::max<std::int64_t>(size, 1);
  }
  return shape.size() <= 64;
}

bool is_empty(const Slice& slice) {
  return slice.num_elements() == 0;
}

Slice relative_to(const Slice& part, const Slice& origin) {
  Slice moved = part;
  for (std::size_t d = 0; d < moved.begin.size(); ++d) {
    moved.begin[d] -= origin.begin[d];
    moved.end[d] -= origin.begin[d];
  }
  return moved;
}

bool contains(const Slice& outer, const Slice& inner) {
  if (outer.begin.size() != inner.begin.size()) return false;
  for (std::size_t d = 0; d < outer.begin.size(); ++d)
    if (inner.begin[d] < outer.begin[d] || inner.end[d] > outer.end[d]) return false;
  return true;
}

std::string to_text(const Slice& slice) {
  std::string text;
  for (std::size_t d = 0; d < slice.begin.size(); ++d)
    text += fmt::format("{}{}:{}", d == 0 ? "" : ",", slice.begin[d], slice.end[d]);
  return text;
}

std::string to_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Slice slice_from_text(std::string_view text) {
  Slice slice;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto part = rest.substr(0, comma);
    const auto colon = part.find(':');
    D9D_REQUIRE(
        colon != std::string_view::npos && (comma == std::string_view::npos || comma + 1 < rest.size()),
        "\"{}\" is not a slice; expected begin:end per dim, such as 0:128,0:256", text);
    slice.begin.push_back(number_from(part.substr(0, colon), text));
    slice.end.push_back(number_from(part.substr(colon + 1), text));
    D9D_REQUIRE(slice.begin.back() <= slice.end.back(), "slice \"{}\" runs backwards", text);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return slice;
}

void require_inside(const Slice& slice, const Shape& shape, std::string_view what) {
  D9D_REQUIRE(slice.begin.size() == shape.size() && slice.end.size() == shape.size(),
              "{}: slice \"{}\" has {} dims, the tensor {} has {}", what, to_text(slice), slice.begin.size(),
              to_text(shape), shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d)
    D9D_REQUIRE(slice.begin[d] >= 0 && slice.begin[d] <= slice.end[d] && slice.end[d] <= shape[d],
                "{}: slice \"{}\" is not inside the tensor {} (dim {})", what, to_text(slice), to_text(shape),
                d);
}

std::string why_not_a_tiling(const std::vector<Slice>& slices, const Shape& shape) {
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!contains(whole(shape), slices[i]))
      return fmt::format("slice \"{}\" is not inside the tensor {}", to_text(slices[i]), to_text(shape));
    for (std::size_t k = 0; k < i; ++k)
      if (!is_empty(intersection(slices[k], slices[i])))
        return fmt::format("slices \"{}\" and \"{}\" overlap", to_text(slices[k]), to_text(slices[i]));
    covered += slices[i].num_elements();
  }
  if (covered != num_elements(shape))
    return fmt::format("slices hold {} of the {} elements of {}", covered, num_elements(shape),
                       to_text(shape));
  return {};
}

}  // namespace d9d
