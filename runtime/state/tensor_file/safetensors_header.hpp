#pragma once
// The header of a safetensors file: 8 bytes little-endian length, then JSON {name: {dtype, shape,
// data_offsets}}, then the tensors without gaps (https://github.com/huggingface/safetensors,
// "Format"). A file's contents are untrusted until this code has checked them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/tensor_file/slice.hpp"
#include "runtime/state/weights/float8.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

inline constexpr std::uint64_t safetensors_header_bytes_max = 100'000'000;

struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::float32;
  Shape shape;

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(num_elements(shape) * size_of(dtype)); }
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

struct StoredTensor {
  TensorSpec spec;
  std::uint64_t offset = 0;  // of the first byte, from the start of the file
  // Set for 8-bit floats, which no Dtype represents: the spec then says uint8, one
  // byte for each value.
  std::optional<Float8Format> float8{};
};

// Whether a file may hold tensors of F8_E4M3 and F8_E5M2. Allow it only if the
// reader applies their scales.
enum class Float8 { refused, allowed };

struct SafetensorsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Parses a header. `json` is the text after the length; `file_bytes` the size of the whole file.
// Input error that names the file and the tensor, unless: the text is a JSON object without
// repeated names; dtypes are known; shapes are non-negative integers whose size in bytes equals the
// data offsets; offsets are in range and cover the data without gap or overlap.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t file_bytes,
                                           const std::string& file, Float8 float8 = Float8::refused);

// Reads and parses a file's header. Input error for a file of another kind that
// says which (foreign_bytes.hpp).
SafetensorsHeader read_safetensors_header(const ReadFile& file, Float8 float8 = Float8::refused);

// Returns length and JSON, padded with spaces to a multiple of eight. The tensors follow
// in the given order.
std::string make_safetensors_header(const std::vector<TensorSpec>& tensors,
                                    const std::map<std::string, std::string>& metadata);

}  // namespace d9d
