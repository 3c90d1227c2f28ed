#pragma once
// Finds NaN and infinite values at the speed of memory. No torch.

#include <cstdint>

#include "runtime/tensor/dtype.hpp"

namespace d9d {

// `values` need not be aligned. Returns false for types that have no such values.
bool has_not_finite(const void* values, std::uint64_t bytes, Dtype dtype);

}  // namespace d9d
