#pragma once
// Reads a box of a row-major array in a file, and only the bytes of the box. Two runs with a gap
// below 16 KiB are read in one call, because a call costs more than reading the gap.

#include <cstddef>
#include <cstdint>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/tensor_file/slice.hpp"

namespace d9d {

// `into` receives the box contiguously, in row-major order;
// `offset` is the byte of the array's first element.
void read_slice(const ReadFile& file, std::uint64_t offset, const Shape& shape, std::int64_t element_bytes,
                const Slice& slice, std::byte* into);

}  // namespace d9d
