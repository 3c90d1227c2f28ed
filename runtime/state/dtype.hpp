#pragma once
// Element types a state file can hold, by their safetensors
// names. Without torch, so that actors may name them.

#include <cstdint>
#include <optional>
#include <string_view>

namespace d9d {

enum class Dtype : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

std::int64_t size_of(Dtype dtype);  // bytes of one element
std::string_view name_of(Dtype dtype);
// "F32", "BF16", "BOOL", ...; nothing for a name that is not one of the ten.
std::optional<Dtype> dtype_from(std::string_view name);

}  // namespace d9d
