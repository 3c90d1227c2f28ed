#include "runtime/tensor/torch_dtype.hpp"

#include <array>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::array torch_types{
    std::pair{Dtype::float64, at::kDouble}, std::pair{Dtype::float32, at::kFloat},
    std::pair{Dtype::float16, at::kHalf},   std::pair{Dtype::bfloat16, at::kBFloat16},
    std::pair{Dtype::int64, at::kLong},     std::pair{Dtype::int32, at::kInt},
    std::pair{Dtype::int16, at::kShort},    std::pair{Dtype::int8, at::kChar},
    std::pair{Dtype::uint8, at::kByte},     std::pair{Dtype::boolean, at::kBool},
};

}  // namespace

at::ScalarType scalar_type_of(Dtype dtype) {
  for (const auto& [ours, torch] : torch_types) {
    if (ours == dtype) return torch;
  }
  D9D_CHECK(false, "torch has no element type for {}", name_of(dtype));
}

Dtype dtype_of(at::ScalarType type) {
  for (const auto& [ours, torch] : torch_types) {
    if (torch == type) return ours;
  }
  throw Error(ErrorKind::input,
              fmt::format("a state file cannot hold the element type {}; convert it to one of F64 F32 "
                          "F16 BF16 I64 I32 I16 I8 U8 BOOL first",
                          c10::toString(type)));
}

}  // namespace d9d
