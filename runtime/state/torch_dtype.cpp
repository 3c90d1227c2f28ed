#include "runtime/state/torch_dtype.hpp"

#include <array>
#include <cstddef>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// In the order of Dtype.
constexpr std::array<at::ScalarType, 10> types = {at::kDouble, at::kFloat, at::kHalf,  at::kBFloat16,
                                                  at::kLong,   at::kInt,   at::kShort, at::kChar,
                                                  at::kByte,   at::kBool};

}  // namespace

at::ScalarType scalar_type_of(Dtype dtype) {
  return types[static_cast<std::size_t>(dtype)];
}

Dtype dtype_of(at::ScalarType type) {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i] == type) return static_cast<Dtype>(i);
  throw Error(ErrorKind::input,
              fmt::format("a state file cannot hold the element type {}; convert it to one of F64 F32 "
                          "F16 BF16 I64 I32 I16 I8 U8 BOOL first",
                          c10::toString(type)));
}

}  // namespace d9d
