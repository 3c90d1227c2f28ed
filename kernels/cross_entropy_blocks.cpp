#include "kernels/cross_entropy_blocks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "kernels/dispatch.hpp"
#include "kernels/gemm.hpp"

namespace d9d::kernels {
namespace {

// Logits of a block should stay in the second-level cache between the product, the softmax and the two
// products after it; fewer than 64 rows would make those products slow.
int64_t rows_per_block(int64_t vocabulary) {
  constexpr int64_t elements = int64_t{1} << 22;
  return std::clamp<int64_t>(elements / std::max<int64_t>(1, vocabulary), 64, 512);
}

// A block of tokens: logits [rows, V], of the tokens `first` and following.
struct Block {
  at::Tensor logits;
  int64_t first;
  bool gradient;
};

// logits := their gradient times the denominator of the softmax, whose inverse is returned, [rows].
at::Tensor loss_of_block(const Block& block, const ValidTokens& valid, const CrossEntropyWanted& wanted) {
  const at::Tensor& logits = block.logits;
  const int64_t width = logits.size(1);
  at::Tensor inverse = at::empty({logits.size(0)}, logits.options());
  dispatch(logits.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto* label = data_of<int64_t>(valid.labels) + block.first;
    for_rows(logits.size(0), width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const S loss = kernel_table<S>().cross_entropy_row(width, data_of<S>(logits) + i * width, label[i],
                                                           block.gradient, data_of<S>(inverse) + i);
        if (wanted.loss.defined()) data_of<S>(wanted.loss)[block.first + i] = loss;
      }
    });
  });
  return inverse;
}

// Of own logits: the largest, the sum of exponentials less the largest, the label's or zero, [3, rows].
at::Tensor own_statistics(const Block& block, const ValidTokens& valid, const VocabularyPart& part) {
  const int64_t rows = block.logits.size(0), width = block.logits.size(1);
  at::Tensor own = at::empty({3, rows}, block.logits.options());
  dispatch(own.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto* label = data_of<int64_t>(valid.labels) + block.first;
    S* out = data_of<S>(own);
    for_rows(rows, width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const S* row = data_of<S>(block.logits) + i * width;
        const int64_t column = label[i] - part.first;
        out[rows + i] = kernel_table<S>().exponential_sum(width, row, out + i);
        out[2 * rows + i] = column >= 0 && column < width ? row[column] : S(0);
      }
    });
  });
  return own;
}

// Parts in order, so that every rank gets the same bits.
void combine(const at::Tensor& parts, const Block& block, at::Tensor& softmax, const at::Tensor& loss) {
  const int64_t rows = parts.size(2);
  dispatch(parts.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto at = [&, data = data_of<S>(parts)](int64_t part, int64_t what, int64_t i) {
      return data[(part * 3 + what) * rows + i];
    };
    for (int64_t i = 0; i < rows; ++i) {
      S largest = at(0, 0, i), total = 0, at_label = 0;
      for (int64_t p = 1; p < parts.size(0); ++p) largest = std::max(largest, at(p, 0, i));
      for (int64_t p = 0; p < parts.size(0); ++p) {
        total += at(p, 1, i) * std::exp(at(p, 0, i) - largest);
        at_label += at(p, 2, i);
      }
      data_of<S>(softmax)[block.first + i] = largest;
      data_of<S>(softmax)[softmax.size(1) + block.first + i] = total;
      data_of<S>(loss)[block.first + i] = std::log(total) + largest - at_label;
    }
  });
}

// As loss_of_block, from the softmax over the whole vocabulary.
at::Tensor gradient_of_block(const Block& block, const ValidTokens& valid, const SharedVocabulary& shared) {
  const int64_t rows = block.logits.size(0), width = block.logits.size(1);
  dispatch(block.logits.scalar_type(), [&](auto tag) {
    using S = Sum<decltype(tag)>;
    const auto* label = data_of<int64_t>(valid.labels) + block.first;
    const S* largest = data_of<S>(shared.softmax) + block.first;
    const S* total = largest + shared.softmax.size(1);
    for_rows(rows, width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        S* row = data_of<S>(block.logits) + i * width;
        const int64_t column = label[i] - shared.part.first;
        kernel_table<S>().exponentials(width, row, largest[i]);
        if (column >= 0 && column < width) row[column] -= total[i];
      }
    });
  });
  return shared.softmax[1].narrow(0, block.first, rows).reciprocal();
}

at::Tensor loss_of_block(const Block& block, const ValidTokens& valid, const CrossEntropyWanted& wanted,
                         SharedVocabulary& shared) {
  if (wanted.loss.defined()) {
    const at::Tensor parts = shared.part.gather(own_statistics(block, valid, shared.part)).contiguous();
    combine(parts, block, shared.softmax, wanted.loss);
  }
  return block.gradient ? gradient_of_block(block, valid, shared) : at::Tensor();
}

}  // namespace

ValidTokens valid_tokens(const at::Tensor& labels, int64_t ignore_index, int64_t vocab_size) {
  const auto* label = data_of<int64_t>(labels);
  ValidTokens valid{at::empty({labels.size(0)}, labels.options()),
                    at::empty({labels.size(0)}, labels.options())};
  int64_t count = 0;
  for (int64_t t = 0; t < labels.size(0); ++t) {
    if (label[t] == ignore_index) continue;
    TORCH_CHECK_INDEX(label[t] >= 0 && label[t] < vocab_size, "linear_cross_entropy: label ", label[t],
                      " at token ", t, " is outside [0, ", vocab_size, ")");
    data_of<int64_t>(valid.index)[count] = t;
    data_of<int64_t>(valid.labels)[count++] = label[t];
  }
  return {valid.index.narrow(0, 0, count), valid.labels.narrow(0, 0, count)};
}

// The denominators of the softmax are divided out on the side of hidden, whose rows are short.
void run_blocks(const at::Tensor& hidden, const at::Tensor& weight, const ValidTokens& valid,
                const CrossEntropyWanted& wanted, SharedVocabulary* shared) {
  // Ranks that share a vocabulary go through the same blocks, whatever the size of their parts.
  const int64_t count = hidden.size(0),
                block_rows = rows_per_block(shared ? shared->part.vocab_size : weight.size(0));
  const auto options = hidden.options().requires_grad(false).dtype(sum_dtype(hidden.scalar_type()));
  const at::Tensor buffer = at::empty({std::min(block_rows, count), weight.size(0)}, options);
  const bool gradient = wanted.dhidden.defined() || wanted.dweight.defined();
  if (count == 0 && wanted.dweight.defined() && wanted.beta == 0) wanted.dweight.zero_();
  for (int64_t first = 0; first < count; first += block_rows) {
    const int64_t rows = std::min(block_rows, count - first);
    const at::Tensor part = hidden.narrow(0, first, rows), logits = buffer.narrow(0, 0, rows);
    matmul(logits, part, weight.t());
    const Block block{logits, first, gradient};
    at::Tensor inverse =
        shared ? loss_of_block(block, valid, wanted, *shared) : loss_of_block(block, valid, wanted);
    if (!gradient) continue;
    inverse = inverse.unsqueeze(1);
    if (wanted.dhidden.defined()) {
      const at::Tensor dhidden = wanted.dhidden.narrow(0, first, rows);
      matmul(dhidden, logits, weight);
      dhidden.mul_(inverse);
    }
    if (wanted.dweight.defined()) {
      const at::Tensor factor =
          wanted.scale.defined() ? inverse * wanted.scale.narrow(0, first, rows).unsqueeze(1) : inverse;
      matmul(wanted.dweight, logits.t(), part * factor, first == 0 ? wanted.beta : 1);
    }
  }
}

}  // namespace d9d::kernels
