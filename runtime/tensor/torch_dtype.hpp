#pragma once
// Converts our element types to torch's and back.

#include <c10/core/ScalarType.h>

#include "runtime/tensor/dtype.hpp"

namespace d9d {

at::ScalarType scalar_type_of(Dtype dtype);
// Input error for a torch type that our files cannot store (complex, quantized, ...).
Dtype dtype_of(at::ScalarType type);

}  // namespace d9d
