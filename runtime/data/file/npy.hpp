#pragma once
// NumPy's array file, without torch: C order, little endian, integers of 8 to 64 bits, booleans, float32 float64,
// any rank. Format: numpy.lib.format, versions 1.0 and 2.0 (NEP 1).

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/file/mapped_file.hpp"

namespace d9d {

enum class NpyType { int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, boolean };

std::string_view name_of(NpyType type);  // as numpy says it: "int32", ...
std::size_t bytes_of(NpyType type);
bool is_integer(NpyType type);
bool is_float(NpyType type);
// Reads integers or booleans of `type` from `from`, which need not be aligned. A uint64 above the
// largest int64 becomes negative.
void read_integers(NpyType type, const std::byte* from, std::span<std::int64_t> out);

// A mapped array. The constructor reads and checks the header only, and that the file has exactly
// the length that the header promises.
class NpyArray {
 public:
  // Input errors name the file and what is wrong: magic, version, header, Fortran order, dtype, length.
  explicit NpyArray(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  NpyType type() const { return type_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t num_elements() const;
  std::span<const std::byte> bytes() const { return bytes_; }

  // Reads elements [first, first + out.size()) in C order as integers; true is 1, and a uint64
  // above the largest int64 becomes negative. Input error for an array of floating point.
  void read(std::int64_t first, std::span<std::int64_t> out) const;
  // The same as float, from any dtype, rounded to nearest where a value does not fit.
  void read(std::int64_t first, std::span<float> out) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  NpyType type_ = NpyType::int64;
  std::vector<std::int64_t> shape_;
  std::span<const std::byte> bytes_;
};

}  // namespace d9d
