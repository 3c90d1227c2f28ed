#pragma once
// Our element types as torch's, and back.

#include <c10/core/ScalarType.h>

#include "runtime/tensor/dtype.hpp"

namespace d9d {

at::ScalarType scalar_type_of(Dtype dtype);
// Input error: a torch type that no file of ours holds (complex, quantized, ...).
Dtype dtype_of(at::ScalarType type);

}  // namespace d9d
