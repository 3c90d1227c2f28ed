#include "kernels/cross_entropy/blocks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "kernels/matmul.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Logits of a block should stay in the second-level cache between the product, the softmax and the two
// products after it; fewer than 64 rows would make those products slow.
int64_t rows_per_block(int64_t vocabulary) {
  constexpr int64_t elements = int64_t{1} << 22;
  return std::clamp<int64_t>(elements / std::max<int64_t>(1, vocabulary), 64, 512);
}

// Tokens first .. first + rows.
struct TokenBlock {
  int64_t first;
  int64_t rows;
  at::Tensor of(const at::Tensor& tokens) const {
    return tokens.defined() ? tokens.narrow(0, first, rows) : tokens;
  }
};

// Logits [rows, V] of a block := their gradient times the denominator of the softmax, whose inverse is
// returned, [rows]; undefined if no gradient is wanted.
at::Tensor loss_of_block(const TokenBlock& block, const at::Tensor& logits, const ValidTokens& valid,
                         const CrossEntropyWanted& wanted, SharedVocabulary* shared) {
  const bool gradient = wanted.dhidden.defined() || wanted.dweight.defined();
  const at::Tensor labels = block.of(valid.labels), loss = block.of(wanted.loss);
  if (shared == nullptr) return run_op(&OpTable::cross_entropy, logits, labels, gradient, loss);
  const at::Tensor softmax = shared->softmax.narrow(1, block.first, block.rows);
  if (loss.defined()) {
    const at::Tensor own = run_op(&OpTable::vocabulary_statistics, logits, labels, shared->part.first);
    run_op(&OpTable::join_vocabulary, shared->part.gather(own), softmax, loss);
  }
  if (!gradient) return {};
  run_op(&OpTable::cross_entropy_of_part, logits, labels, shared->part.first, softmax);
  return softmax[1].reciprocal();
}

// Adds the block's share of the gradients. The denominators of the softmax are divided out on the side of
// hidden, whose rows are short.
void add_gradients(const TokenBlock& block, const at::Tensor& hidden, const at::Tensor& weight,
                   const at::Tensor& logits, const at::Tensor& inverse, const CrossEntropyWanted& wanted) {
  if (wanted.dhidden.defined()) {
    const at::Tensor dhidden = block.of(wanted.dhidden);
    matmul(dhidden, logits, weight);
    dhidden.mul_(inverse);
  }
  if (wanted.dweight.defined()) {
    const at::Tensor factor =
        wanted.scale.defined() ? inverse * block.of(wanted.scale).unsqueeze(1) : inverse;
    matmul(wanted.dweight, logits.t(), block.of(hidden) * factor, block.first == 0 ? wanted.beta : 1);
  }
}

}  // namespace

void run_blocks(const at::Tensor& hidden, const at::Tensor& weight, const ValidTokens& valid,
                const CrossEntropyWanted& wanted, SharedVocabulary* shared) {
  // Ranks that share a vocabulary go through the same blocks, whatever the size of their parts.
  const int64_t count = hidden.size(0),
                block_rows = rows_per_block(shared ? shared->part.vocab_size : weight.size(0));
  const auto options = hidden.options().requires_grad(false).dtype(sum_dtype(hidden.scalar_type()));
  const at::Tensor buffer = at::empty({std::min(block_rows, count), weight.size(0)}, options);
  if (count == 0 && wanted.dweight.defined() && wanted.beta == 0) wanted.dweight.zero_();
  for (int64_t first = 0; first < count; first += block_rows) {
    const TokenBlock block{first, std::min(block_rows, count - first)};
    const at::Tensor logits = buffer.narrow(0, 0, block.rows);
    matmul(logits, block.of(hidden), weight.t());
    const at::Tensor inverse = loss_of_block(block, logits, valid, wanted, shared);
    if (wanted.dhidden.defined() || wanted.dweight.defined())
      add_gradients(block, hidden, weight, logits, inverse.unsqueeze(1), wanted);
  }
}

}  // namespace d9d::kernels
