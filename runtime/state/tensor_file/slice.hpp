#pragma once
// What files need of slices (runtime/tensor/layout.hpp): a text form, checks, arithmetic. No torch.
// Text form, part of the names in checkpoint files: "0:128,64:256"; a tensor without dims has the empty text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor/layout.hpp"

namespace d9d {

using Shape = std::vector<std::int64_t>;

std::int64_t num_elements(const Shape& shape);  // 1 without dims
// For shapes that come from outside: no size is negative, and no product of sizes with `element_bytes` leaves
// 63 bits (a size of zero counts as one). At most 64 dims.
bool is_sane(const Shape& shape, std::int64_t element_bytes);
bool is_empty(const Slice& slice);  // holds no element
// `part` in coordinates that start where `origin` begins.
Slice relative_to(const Slice& part, const Slice& origin);
bool contains(const Slice& outer, const Slice& inner);

std::string to_text(const Slice& slice);
std::string to_text(const Shape& shape);  // "[2, 3]"
// An input error when the text is not of the form above, or a range runs backwards.
Slice slice_from_text(std::string_view text);

// An input error that names `what` unless 0 <= begin <= end <= size for every dim of the shape.
void require_inside(const Slice& slice, const Shape& shape, std::string_view what);
// Nothing when the slices are parts of `shape`, share no element and leave none out; else what is wrong.
std::string why_not_a_tiling(const std::vector<Slice>& slices, const Shape& shape);

}  // namespace d9d
