#include "runtime/comm/reduce.hpp"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d::comm {
namespace {

template <class T>
struct Wide {
  using type = T;
};
template <>
struct Wide<c10::BFloat16> {
  using type = float;
};
template <>
struct Wide<c10::Half> {
  using type = float;
};

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct Max {  // b != b: keeps a NaN of either side
  template <class T>
  static T apply(T a, T b) {
    return b > a || b != b ? b : a;
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return b < a || b != b ? b : a;
  }
};

// Small enough for the first-level cache: the sources stream past it.
constexpr std::int64_t block_elements = 1024;

// Sums of 2^level neighbours that wait for their pair: a binary counter whose digits are blocks.
template <class W, class Op>
class PairwiseSum {
 public:
  // The block to write the next source to.
  W* next() { return blocks_[used_].data; }
  void push(std::int64_t count) {
    std::int64_t number = ++pushed_;
    ++used_;
    for (; number % 2 == 0; number /= 2) join_last(count);
  }
  const W* total(std::int64_t count) {
    while (used_ > 1) join_last(count);
    return blocks_[0].data;
  }

 private:
  struct alignas(64) Block {
    W data[block_elements];
  };
  void join_last(std::int64_t count) {
    --used_;
    combine(blocks_[used_ - 1].data, blocks_[used_].data, count);
  }
  static void combine(W* __restrict left, const W* __restrict right, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) left[i] = Op::apply(left[i], right[i]);
  }

  std::array<Block, 20> blocks_;  // log2 of the ranks of a group, and one
  int used_ = 0;
  std::int64_t pushed_ = 0;
};

template <class T, class Op>
void reduce_block(std::span<const void* const> sources, std::span<void* const> targets, std::int64_t begin,
                  std::int64_t count) {
  using W = typename Wide<T>::type;
  PairwiseSum<W, Op> sum;
  for (const void* const source : sources) {
    const T* const values = static_cast<const T*>(source) + begin;
    W* const block = sum.next();
    for (std::int64_t i = 0; i < count; ++i) block[i] = static_cast<W>(values[i]);
    sum.push(count);
  }
  const W* const total = sum.total(count);
  T* const result = static_cast<T*>(targets[0]) + begin;
  for (std::int64_t i = 0; i < count; ++i) result[i] = static_cast<T>(total[i]);
  for (std::size_t target = 1; target < targets.size(); ++target) {
    std::memcpy(static_cast<T*>(targets[target]) + begin, result,
                static_cast<std::size_t>(count) * sizeof(T));
  }
}

template <class T>
void reduce_all(ReduceOp op, std::span<const void* const> sources, std::span<void* const> targets,
                std::int64_t count) {
  for (std::int64_t begin = 0; begin < count; begin += block_elements) {
    const std::int64_t size = std::min(block_elements, count - begin);
    switch (op) {
      case ReduceOp::sum:
        reduce_block<T, Sum>(sources, targets, begin, size);
        break;
      case ReduceOp::max:
        reduce_block<T, Max>(sources, targets, begin, size);
        break;
      case ReduceOp::min:
        reduce_block<T, Min>(sources, targets, begin, size);
        break;
    }
  }
}

}  // namespace

void reduce(c10::ScalarType dtype, ReduceOp op, std::span<const void* const> sources,
            std::span<void* const> targets, std::int64_t count) {
  if (targets.empty() || count == 0) return;
  switch (dtype) {
    case c10::ScalarType::Float:
      return reduce_all<float>(op, sources, targets, count);
    case c10::ScalarType::Double:
      return reduce_all<double>(op, sources, targets, count);
    case c10::ScalarType::BFloat16:
      return reduce_all<c10::BFloat16>(op, sources, targets, count);
    case c10::ScalarType::Half:
      return reduce_all<c10::Half>(op, sources, targets, count);
    case c10::ScalarType::Int:
      return reduce_all<std::int32_t>(op, sources, targets, count);
    case c10::ScalarType::Long:
      return reduce_all<std::int64_t>(op, sources, targets, count);
    default:
      D9D_CHECK(false, "no reduction of {} between ranks", c10::toString(dtype));
  }
}

Range part_of(std::int64_t count, int parts, int part) {
  constexpr std::int64_t line_elements = 64;  // elements: whole cache lines whatever the type
  const std::int64_t lines = (count + line_elements - 1) / line_elements;
  const std::int64_t begin = lines * part / parts * line_elements;
  const std::int64_t end = lines * (part + 1) / parts * line_elements;
  return {std::min(begin, count), std::min(end, count)};
}

}  // namespace d9d::comm
