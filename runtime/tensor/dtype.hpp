#pragma once
// Types of tensor elements and their names in files. Conversion to torch's enum:
// torch_dtype.hpp. No torch here.

#include <boost/describe/enum.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace d9d {

enum class Dtype : std::uint8_t {
  float64,
  float32,
  float16,
  bfloat16,
  int64,
  int32,
  int16,
  int8,
  uint8,
  boolean,
};
// The types that a key of the job file may name (`dtype: bfloat16`).
BOOST_DESCRIBE_ENUM(Dtype, float32, bfloat16, float16)

std::int64_t size_of(Dtype dtype);  // bytes of one element
// The name in job files and in config.json: "float32", "bfloat16", ...
std::string_view name_of(Dtype dtype);
std::optional<Dtype> dtype_named(std::string_view name);
// The name in safetensors files and in our checkpoints' manifests: "F32", "BF16", ...
std::string_view safetensors_name(Dtype dtype);
std::optional<Dtype> dtype_of_safetensors(std::string_view name);

}  // namespace d9d
