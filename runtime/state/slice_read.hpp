#pragma once
// Reads a box of a row-major array that lies in a file, touching only its
// own bytes (neighbouring small runs are read together when the gap between
// them is below 16 KiB, since a call costs more than the bytes between).

#include <cstddef>
#include <cstdint>

#include "runtime/state/disk.hpp"
#include "runtime/state/slice.hpp"

namespace d9d {

// `into` receives the box contiguously, in row-major order;
// `offset` is the byte of the array's first element.
void read_slice(const ReadFile& file, std::uint64_t offset, const Shape& shape, std::int64_t element_bytes,
                const Slice& slice, std::byte* into);

}  // namespace d9d
