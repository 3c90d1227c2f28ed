#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

// Less is not worth a thread: 256 KiB take some ten microseconds.
constexpr int64_t grain_bytes = int64_t{1} << 18;

void copy_pieces(const at::Tensor& to, const at::Tensor& from, const CopiedPieces& pieces) {
  const int64_t size = to.element_size();
  std::vector<int64_t> begins{0};  // in bytes, of each piece in the sequence of all, then their end
  for (const CopiedPiece& piece : pieces) begins.push_back(begins.back() + piece.count * size);
  auto* const into = static_cast<char*>(to.data_ptr());
  const auto* const source = static_cast<const char*>(from.const_data_ptr());
  // Threads share out the bytes, because a few pieces are long and most are short.
  at::parallel_for(0, begins.back(), grain_bytes, [&](int64_t begin, int64_t end) {
    auto i =
        static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), begin) - begins.begin() - 1);
    for (int64_t at = begin; at < end; ++i) {
      const int64_t stop = std::min(end, begins[i + 1]), within = at - begins[i];
      std::memcpy(into + pieces[i].to * size + within, source + pieces[i].from * size + within,
                  static_cast<std::size_t>(stop - at));
      at = stop;
    }
  });
}

}  // namespace

void add_copy_pieces(OpTable& table) {
  table.copy_pieces = copy_pieces;
}

}  // namespace d9d::kernels::cpu
