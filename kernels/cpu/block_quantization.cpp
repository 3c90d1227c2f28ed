#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/optimizer/code_book.hpp"

namespace d9d::kernels::cpu {
namespace {

constexpr int64_t elements_of_task = int64_t{1} << 14;

// Returns the exponent and the upper 8 bits of the fraction of a number in [0, 1].
std::size_t cell_of(float magnitude) {
  return std::bit_cast<std::uint32_t>(magnitude) >> 15;
}

// Finds the nearest values of one sign.
class Side {
 public:
  explicit Side(const CodeSide& side);

  // Returns the index of the nearest value; of two equally near ones that of the smaller.
  int index_of(float magnitude) const {
    const int index = start_[cell_of(magnitude)];
    return index + (magnitude > side_.middle[index] ? 1 : 0);
  }

 private:
  const CodeSide& side_;
  // By cell: the index for the smallest number of the cell. Another number of the cell has this index or
  // the next one, because a cell is narrower than the distance between two middles.
  std::vector<std::uint8_t> start_;
};

Side::Side(const CodeSide& side) : side_(side) {
  std::size_t index = 0;
  for (std::size_t cell = 0; cell <= cell_of(1.0F); ++cell) {
    const auto smallest = std::bit_cast<float>(static_cast<std::uint32_t>(cell) << 15);
    while (smallest > side.middle[index]) ++index;
    start_.push_back(static_cast<std::uint8_t>(index));
  }
}

struct Book {
  const CodeTables& tables;
  Side above, below;

  explicit Book(CodeBook kind) : tables(code_tables(kind)), above(tables.above), below(tables.below) {}
};

const Book& book_of(CodeBook kind) {
  static const Book either(CodeBook::either_sign), positive(CodeBook::positive);
  return kind == CodeBook::positive ? positive : either;
}

// Calls f(block, begin, end) for all blocks of n elements, in parallel.
template <class F>
void for_blocks(int64_t n, int64_t block, const F& f) {
  const int64_t blocks = (n + block - 1) / block;
  at::parallel_for(0, blocks, std::max<int64_t>(1, elements_of_task / block),
                   [&](int64_t first, int64_t last) {
                     for (int64_t i = first; i < last; ++i) f(i, i * block, std::min(n, (i + 1) * block));
                   });
}

void quantize_blocks(const at::Tensor& x, int64_t block, CodeBook kind, const at::Tensor& codes,
                     const at::Tensor& scales) {
  const Book& book = book_of(kind);
  const bool positive = kind == CodeBook::positive;
  const float* const values = data_of<float>(x);
  auto* const bytes = data_of<std::uint8_t>(codes);
  float* const scale = data_of<float>(scales);
  for_blocks(x.numel(), block, [&](int64_t index, int64_t begin, int64_t end) {
    float largest = 0;
    for (int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
    if (largest < smallest_block_scale) largest = 0;
    scale[index] = largest;
    for (int64_t i = begin; i < end; ++i) {
      const float magnitude = largest > 0 ? std::abs(values[i]) / largest : 0;
      const bool below = values[i] < 0;
      int code = (below ? book.below : book.above).index_of(magnitude);
      if (positive && code == 0 && largest > 0 && values[i] > 0) code = 1;
      bytes[i] = static_cast<std::uint8_t>(below ? -code : code);
    }
  });
}

void dequantize_blocks(const at::Tensor& codes, const at::Tensor& scales, int64_t block, CodeBook kind,
                       const at::Tensor& x) {
  const Book& book = book_of(kind);
  const auto* const bytes = data_of<std::uint8_t>(codes);
  const float* const scale = data_of<float>(scales);
  float* const values = data_of<float>(x);
  for_blocks(x.numel(), block, [&](int64_t index, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = book.tables.value[bytes[i]] * scale[index];
  });
}

}  // namespace

void add_block_quantization(OpTable& table) {
  table.quantize_blocks = quantize_blocks;
  table.dequantize_blocks = dequantize_blocks;
}

}  // namespace d9d::kernels::cpu
