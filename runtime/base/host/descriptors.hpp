#pragma once
// File descriptors of this process.

#include <cstdint>

namespace d9d {

// Raises the soft limit (often 1024) to the hard one, which is what the administrator allows. Returns the limit.
std::uint64_t raise_descriptor_limit();

}  // namespace d9d
