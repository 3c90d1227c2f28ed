#pragma once
// Whether values are NaN or infinite, found at the rate of memory. No torch.

#include <cstddef>
#include <cstdint>

#include "runtime/tensor/dtype.hpp"

namespace d9d {

// `values` may lie anywhere. False for types that have no such values.
bool has_not_finite(const void* values, std::uint64_t bytes, Dtype dtype);

}  // namespace d9d
