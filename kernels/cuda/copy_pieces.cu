// A thread block copies a stretch of the sequence of all pieces, whatever pieces lie in it: a few pieces are weights of
// megabytes, most are norms of some hundred bytes.
#include "kernels/cuda/copy_pieces.hpp"

#include "kernels/cuda/elements.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr int kept_words = 4;  // of a thread, loaded before the first is stored
constexpr std::int64_t stretch_bytes = std::int64_t{threads} * kept_words * 16;

struct PiecesInArguments {
  PieceOfBytes pieces[pieces_in_arguments_max + 1];
  __device__ const PieceOfBytes& at(int i) const { return pieces[i]; }
};
struct PiecesInMemory {
  const PieceOfBytes* pieces;
  __device__ const PieceOfBytes& at(int i) const { return pieces[i]; }
};

template <class Word>
__device__ inline void copy_words(char* to, const char* from, std::int64_t count) {
  auto* const target = reinterpret_cast<Word*>(to);
  const auto* const source = reinterpret_cast<const Word*>(from);
  for (std::int64_t first = threadIdx.x; first < count; first += threads * kept_words) {
    Word words[kept_words] = {};
#pragma unroll
    for (int i = 0; i < kept_words; ++i)
      if (first + i * threads < count) words[i] = source[first + i * threads];
#pragma unroll
    for (int i = 0; i < kept_words; ++i)
      if (first + i * threads < count) __stwb(target + first + i * threads, words[i]);
  }
}

// Bytes up to the first whole word of `to`, then words, then bytes. `from` is as far from a whole word as `to`.
template <class Word>
__device__ inline void copy_by(char* to, const char* from, std::int64_t bytes) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(Word));
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % sizeof(Word));
  const std::int64_t head = min(bytes, (size - past) % size);
  const std::int64_t words = (bytes - head) / size, tail = head + words * size;
  for (std::int64_t i = threadIdx.x; i < head; i += threads) to[i] = from[i];
  copy_words<Word>(to + head, from + head, words);
  for (std::int64_t i = tail + threadIdx.x; i < bytes; i += threads) to[i] = from[i];
}

// The widest words that are whole in both places at once.
__device__ inline void copy_bytes(char* to, const char* from, std::int64_t bytes) {
  const auto apart = static_cast<unsigned>(
      (reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from)) % 16);
  if (apart == 0) {
    copy_by<uint4>(to, from, bytes);
  } else if (apart % 8 == 0) {
    copy_by<uint2>(to, from, bytes);
  } else if (apart % 4 == 0) {
    copy_by<unsigned>(to, from, bytes);
  } else if (apart % 2 == 0) {
    copy_by<unsigned short>(to, from, bytes);
  } else {
    copy_by<unsigned char>(to, from, bytes);
  }
}

template <class Pieces>
__global__ void __launch_bounds__(threads)
    copy_pieces_kernel(char* to, const char* from, std::int64_t bytes, int count,
                       const __grid_constant__ Pieces pieces) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * stretch_bytes,
                     end = min(begin + stretch_bytes, bytes);
  int i = 0;  // the piece in which the stretch begins
  for (int behind = count; behind - i > 1;) {
    const int middle = (i + behind) / 2;
    if (pieces.at(middle).begin <= begin) {
      i = middle;
    } else {
      behind = middle;
    }
  }
  for (std::int64_t at = begin; at < end; ++i) {
    const std::int64_t stop = min(end, pieces.at(i + 1).begin), within = at - pieces.at(i).begin;
    copy_bytes(to + pieces.at(i).to + within, from + pieces.at(i).from + within, stop - at);
    at = stop;
  }
}

}  // namespace

int copy_pieces(const CopiedBytes& call, CUstream_st* stream) {
  if (call.bytes == 0) return 0;
  const auto blocks = static_cast<unsigned>((call.bytes + stretch_bytes - 1) / stretch_bytes);
  if (call.count > pieces_in_arguments_max) {
    return launch(copy_pieces_kernel<PiecesInMemory>, blocks, threads, 0, stream, call.to, call.from,
                  call.bytes, call.count, PiecesInMemory{call.pieces});
  }
  PiecesInArguments pieces;
  for (int i = 0; i <= call.count; ++i) pieces.pieces[i] = call.pieces[i];
  return launch(copy_pieces_kernel<PiecesInArguments>, blocks, threads, 0, stream, call.to, call.from,
                call.bytes, call.count, pieces);
}

}  // namespace d9d::cuda
