#pragma once
// Dtype and the torch scalar type are two names of one thing.

#include <c10/core/ScalarType.h>

#include "runtime/state/dtype.hpp"

namespace d9d {

at::ScalarType scalar_type_of(Dtype dtype);
// An input error for a torch type that safetensors files of ours do not hold (complex, quantized, ...).
Dtype dtype_of(at::ScalarType type);

}  // namespace d9d
