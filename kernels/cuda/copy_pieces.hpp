#pragma once
// Many ranges from one place of memory to another in one launch. See kernels/copy_pieces.hpp.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// In bytes. `begin`: of the piece in the sequence of all pieces. It ends where the next one begins.
struct PieceOfBytes {
  std::int64_t to = 0, from = 0, begin = 0;
};
// With as many the arguments of the launch stay below 4 KiB, what all drivers take.
constexpr int pieces_in_arguments_max = 160;

struct CopiedBytes {
  char* to = nullptr;
  const char* from = nullptr;
  std::int64_t bytes = 0;  // of all pieces
  int count = 0;           // of pieces, none of them empty
  // [count + 1], the last one's `begin` is `bytes`. Of the host, which copies them into the launch, where `count` is
  // at most pieces_in_arguments_max; else of the device.
  const PieceOfBytes* pieces = nullptr;
};
int copy_pieces(const CopiedBytes& call, CUstream_st* stream);

}  // namespace d9d::cuda
