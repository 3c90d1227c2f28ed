#pragma once
// A rank's description of the collective that it calls, for the other ranks of its group.

#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace d9d::comm {

struct alignas(64) Call {
  enum class Kind : std::uint8_t {
    all_reduce,
    reduce_scatter,
    all_gather,
    gather_shards,
    sum_to_shards,
    all_to_all,
    broadcast,
    barrier
  };
  static constexpr std::size_t inline_bytes = 256;

  Kind kind = Kind::barrier;
  ReduceOp op = ReduceOp::sum;
  c10::ScalarType dtype = c10::ScalarType::Byte;
  int root = 0;
  std::int64_t numel = 0;      // must be equal on all ranks; 0 for all_to_all
  std::int64_t row_bytes = 0;  // of all_to_all
  const void* input = nullptr;
  void* output = nullptr;
  std::vector<std::int64_t> input_splits;
  std::vector<std::int64_t> output_splits;
  std::array<std::byte, inline_bytes> values;  // of a small all_reduce, instead of input and output
};
const char* name_of(Call::Kind kind);

}  // namespace d9d::comm
