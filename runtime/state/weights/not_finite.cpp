#include "runtime/state/weights/not_finite.hpp"

#include <cstring>

namespace d9d {
namespace {

// Of one value: the bits of its exponent. They are all set in a NaN and in an infinite value only, and then adding the
// lowest of them carries into the sign's place, which the mask has cleared.
std::uint64_t exponent_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
      return 0x7ff0000000000000;
    case Dtype::float32:
      return 0x7f8000007f800000;
    case Dtype::float16:
      return 0x7c007c007c007c00;
    case Dtype::bfloat16:
      return 0x7f807f807f807f80;
    default:
      return 0;
  }
}

std::uint64_t signs_of(Dtype dtype) {
  if (dtype == Dtype::float64) return 0x8000000000000000;
  return dtype == Dtype::float32 ? 0x8000000080000000 : 0x8000800080008000;
}

std::uint64_t lowest_of(Dtype dtype) {
  if (dtype == Dtype::float64) return 0x0010000000000000;
  if (dtype == Dtype::float32) return 0x0080000000800000;
  return dtype == Dtype::float16 ? 0x0400040004000400 : 0x0080008000800080;
}

}  // namespace

bool has_not_finite(const void* values, std::uint64_t bytes, Dtype dtype) {
  const std::uint64_t exponent = exponent_of(dtype);
  if (exponent == 0) return false;
  const std::uint64_t lowest = lowest_of(dtype);
  const auto* at = static_cast<const unsigned char*>(values);
  constexpr std::uint64_t group = 4 * sizeof(std::uint64_t);
  std::uint64_t carried[4] = {0, 0, 0, 0};
  for (; bytes >= group; bytes -= group, at += group) {
    std::uint64_t words[4];
    std::memcpy(words, at, group);
    for (int i = 0; i < 4; ++i) carried[i] |= (words[i] & exponent) + lowest;
  }
  std::uint64_t rest[4] = {0, 0, 0, 0};
  if (bytes > 0) std::memcpy(rest, at, bytes);  // an empty tensor has no place
  for (int i = 0; i < 4; ++i) carried[i] |= (rest[i] & exponent) + lowest;
  return ((carried[0] | carried[1] | carried[2] | carried[3]) & signs_of(dtype)) != 0;
}

}  // namespace d9d
