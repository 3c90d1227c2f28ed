#pragma once
// How a reduction combines the elements of all ranks. No torch in this header.

#include <cstdint>
#include <string_view>

namespace d9d {

enum class ReduceOp : std::uint8_t { sum, max, min };

// For texts.
constexpr std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::max:
      return "max";
    case ReduceOp::min:
      return "min";
  }
  return "?";
}

}  // namespace d9d
