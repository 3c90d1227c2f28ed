#include "kernels/cross_entropy/blocks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "kernels/cross_entropy/loss_memory.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// Tokens first .. first + rows.
struct TokenBlock {
  int64_t first;
  int64_t rows;
  at::Tensor of(const at::Tensor& tokens) const {
    return tokens.defined() ? tokens.narrow(0, first, rows) : tokens;
  }
};

// Computes the loss of a block. Overwrites its logits [rows, V], or `rounded` where that is defined, with their
// gradient times the denominator of the softmax. Returns 1 / denominator, [rows], or an undefined tensor if no
// gradient is wanted.
at::Tensor loss_of_block(const TokenBlock& block, const at::Tensor& logits, const at::Tensor& rounded,
                         const ValidTokens& valid, const CrossEntropyWanted& wanted,
                         SharedVocabulary* shared) {
  const bool gradient = wanted.gradient();
  const at::Tensor labels = block.of(valid.labels), loss = block.of(wanted.loss);
  if (shared == nullptr) {
    return run_op(&OpTable::cross_entropy, logits, labels, gradient, rounded, loss);
  }
  const at::Tensor softmax = shared->softmax.narrow(1, block.first, block.rows);
  if (loss.defined()) {
    const at::Tensor own = run_op(&OpTable::vocabulary_statistics, logits, labels, shared->part.first);
    run_op(&OpTable::join_vocabulary, shared->part.gather(own), softmax, loss);
  }
  if (!gradient) return {};
  run_op(&OpTable::cross_entropy_of_part, logits, labels, shared->part.first, softmax, rounded);
  return softmax[1].reciprocal();
}

// Returns the columns of the logits that belong to a table.
at::Tensor logits_of(const at::Tensor& logits, at::TensorList tables, std::size_t table) {
  const int64_t begin = vocabulary_rows(tables.slice(0, table));
  return tables.size() == 1 ? logits : logits.narrow(1, begin, tables[table].size(0));
}

// Adds the block's share of the gradients. `gradient` is that of the logits as loss_of_block leaves it. If the
// type of the model's activations is another one, some columns after the other are rounded to it, in `rounded`.
// The division by the denominators of the softmax is done on hidden, whose rows are shorter.
void add_gradients(const TokenBlock& block, const at::Tensor& hidden, at::TensorList tables,
                   const at::Tensor& gradient, const at::Tensor& inverse, const CrossEntropyWanted& wanted,
                   const at::Tensor& rounded) {
  const at::Tensor dhidden = block.of(wanted.dhidden);
  const bool of_weights = wanted.dweight();
  at::Tensor factor = inverse;
  if (wanted.scale.defined() && (of_weights || wanted.dbias.defined()))
    factor = inverse * block.of(wanted.scale).unsqueeze(1);
  if (wanted.dbias.defined())
    matmul(wanted.dbias.unsqueeze(1), gradient.t(), factor, block.first == 0 ? 0 : 1);
  at::Tensor scaled;  // the same for all tables
  if (of_weights) scaled = (block.of(hidden) * factor).to(hidden.scalar_type());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const at::Tensor own = logits_of(gradient, tables, i);
    const at::Tensor dweight = wanted.dweights.empty() ? at::Tensor() : wanted.dweights[i];
    const int64_t rows = tables[i].size(0), most = rounded.defined() ? rounded.size(1) : rows;
    for (int64_t begin = 0; begin < rows; begin += most) {
      const int64_t count = std::min(most, rows - begin);
      at::Tensor part = own.narrow(1, begin, count);
      if (rounded.defined()) part = rounded.narrow(1, 0, count).copy_(part);
      if (dhidden.defined()) {
        matmul(dhidden, part, tables[i].narrow(0, begin, count), i == 0 && begin == 0 ? 0 : 1);
      }
      if (dweight.defined()) {
        matmul(dweight.narrow(0, begin, count), part.t(), scaled, block.first == 0 ? wanted.beta : 1);
      }
    }
  }
  if (dhidden.defined()) dhidden.mul_(inverse);
}

}  // namespace

bool CrossEntropyWanted::dweight() const {
  return std::any_of(dweights.begin(), dweights.end(), [](const at::Tensor& one) { return one.defined(); });
}

bool CrossEntropyWanted::gradient() const {
  return dhidden.defined() || dbias.defined() || dweight();
}

int64_t vocabulary_rows(at::TensorList tables) {
  int64_t rows = 0;
  for (const at::Tensor& table : tables) rows += table.size(0);
  return rows;
}

void run_blocks(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& bias,
                const ValidTokens& valid, const CrossEntropyWanted& wanted, SharedVocabulary* shared,
                const HeldLogits& held) {
  const int64_t count = hidden.size(0), block_rows = std::max<int64_t>(1, held.tokens);
  const auto options = hidden.options().requires_grad(false).dtype(sum_dtype(hidden.scalar_type()));
  const at::Tensor buffer = at::empty({held.tokens, held.columns}, options);
  at::Tensor rounded;
  if (held.rounded > 0)
    rounded = at::empty({held.tokens, held.rounded}, hidden.options().requires_grad(false));
  const bool whole = !hidden.is_cpu();  // rows are rounded at once, else some columns after the other
  for (int64_t first = 0; first < count; first += block_rows) {
    const TokenBlock block{first, std::min(block_rows, count - first)};
    const at::Tensor logits = buffer.narrow(0, 0, block.rows);
    if (bias.defined()) logits.copy_(bias.unsqueeze(0).expand_as(logits));
    for (std::size_t i = 0; i < tables.size(); ++i) {
      matmul(logits_of(logits, tables, i), block.of(hidden), tables[i].t(), bias.defined() ? 1 : 0);
    }
    at::Tensor whole_rows, columns;
    if (rounded.defined()) (whole ? whole_rows : columns) = rounded.narrow(0, 0, block.rows);
    const at::Tensor inverse = loss_of_block(block, logits, whole_rows, valid, wanted, shared);
    if (wanted.gradient()) {
      add_gradients(block, hidden, tables, whole_rows.defined() ? whole_rows : logits, inverse.unsqueeze(1),
                    wanted, columns);
    }
  }
}

}  // namespace d9d::kernels
