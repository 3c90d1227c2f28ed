#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/cpu/ops.hpp"

namespace d9d::kernels::cpu {
namespace {

constexpr float smallest_scale = 1e-30F;
constexpr int64_t elements_of_task = int64_t{1} << 14;
constexpr double powers_of_ten[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0};

// Exponent and the upper 8 bits of the fraction, of a number in [0, 1].
std::size_t cell_of(float magnitude) {
  return std::bit_cast<std::uint32_t>(magnitude) >> 15;
}

// The values of one sign by their magnitudes, ascending from 0 to 1.
class Side {
 public:
  explicit Side(std::vector<double> magnitudes);

  // The nearest; of two that are as near the smaller one.
  int index_of(float magnitude) const {
    const int index = start_[cell_of(magnitude)];
    return index + (magnitude > middle_[static_cast<std::size_t>(index)] ? 1 : 0);
  }
  float value(std::size_t index) const { return static_cast<float>(magnitudes_[index]); }
  std::size_t size() const { return magnitudes_.size(); }

 private:
  std::vector<double> magnitudes_;
  std::vector<float> middle_;  // between a value and the next one
  // Of each cell the index of its smallest number. A cell is narrower than the distance of two middles.
  std::vector<std::uint8_t> start_;
};

Side::Side(std::vector<double> magnitudes) : magnitudes_(std::move(magnitudes)) {
  for (std::size_t i = 0; i + 1 < size(); ++i)
    middle_.push_back(static_cast<float>((magnitudes_[i] + magnitudes_[i + 1]) / 2));
  middle_.push_back(std::numeric_limits<float>::infinity());
  std::size_t index = 0;
  for (std::size_t cell = 0; cell <= cell_of(1.0F); ++cell) {
    const auto smallest = std::bit_cast<float>(static_cast<std::uint32_t>(cell) << 15);
    while (smallest > middle_[index]) ++index;
    start_.push_back(static_cast<std::uint8_t>(index));
  }
}

// 0 and 1, and those between: `first` of the smallest power of ten, twice as many of each next one.
std::vector<double> magnitudes_from(int64_t first) {
  std::vector<double> values = {0};
  for (const double power : powers_of_ten) {
    for (int64_t i = 0; i < first; ++i) {
      values.push_back(power * (0.1 + 0.9 * static_cast<double>(2 * i + 1) / static_cast<double>(2 * first)));
    }
    first *= 2;
  }
  values.push_back(1);
  return values;
}

struct Book {
  Side above, below;               // the values above and below zero; below only where there are both
  std::array<float, 256> value{};  // of each byte
};

Book make_book(CodeBook kind) {
  const bool positive = kind == CodeBook::positive;
  std::vector<double> below = magnitudes_from(1);
  below.erase(below.end() - 2);  // 256 bytes have no room for both 0.993 and 1
  Book book{Side(magnitudes_from(positive ? 2 : 1)), Side(below)};
  for (std::size_t i = 0; i < book.above.size(); ++i) book.value[i] = book.above.value(i);
  for (std::size_t i = 1; !positive && i < book.below.size(); ++i) book.value[256 - i] = -book.below.value(i);
  return book;
}

const Book& book_of(CodeBook kind) {
  static const Book either = make_book(CodeBook::either_sign), positive = make_book(CodeBook::positive);
  return kind == CodeBook::positive ? positive : either;
}

// f(block, begin, end) of the blocks of n elements.
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
    if (largest < smallest_scale) largest = 0;
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
    for (int64_t i = begin; i < end; ++i) values[i] = book.value[bytes[i]] * scale[index];
  });
}

}  // namespace

void add_block_quantization(OpTable& table) {
  table.quantize_blocks = quantize_blocks;
  table.dequantize_blocks = dequantize_blocks;
}

}  // namespace d9d::kernels::cpu
