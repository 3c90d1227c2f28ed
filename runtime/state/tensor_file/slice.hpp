#pragma once
// Functions that files need for slices (runtime/tensor/layout.hpp): a text form,
// checks, arithmetic. No torch.
// The text form is a part of names in checkpoint files: "0:128,64:256". For a tensor without
// dims it is empty.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor/layout.hpp"

namespace d9d {

using Shape = std::vector<std::int64_t>;

std::int64_t num_elements(const Shape& shape);  // 1 without dims
// Checks a shape from an untrusted source: no size is negative, and no product of sizes and
// `element_bytes` exceeds 63 bits (a size of zero counts as one). At most 64 dims.
bool is_sane(const Shape& shape, std::int64_t element_bytes);
bool is_empty(const Slice& slice);  // holds no element
// Returns `part` relative to the begin of `origin`.
Slice relative_to(const Slice& part, const Slice& origin);
bool contains(const Slice& outer, const Slice& inner);

std::string to_text(const Slice& slice);
std::string to_text(const Shape& shape);  // "[2, 3]"
// Parses the text form. Input error: another form, or a range that runs backwards.
Slice slice_from_text(std::string_view text);

// Input error that names `what`, unless 0 <= begin <= end <= size for every dim of the shape.
void require_inside(const Slice& slice, const Shape& shape, std::string_view what);
// Returns nothing if the slices are parts of `shape`, do not overlap and cover all of it; else
// says what is wrong.
std::string why_not_a_tiling(const std::vector<Slice>& slices, const Shape& shape);

}  // namespace d9d
