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
  const bool gradient = wanted.gradient();
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

// The columns of logits that a table's rows gave.
at::Tensor logits_of(const at::Tensor& logits, at::TensorList tables, std::size_t table) {
  const int64_t begin = vocabulary_rows(tables.slice(0, table));
  return tables.size() == 1 ? logits : logits.narrow(1, begin, tables[table].size(0));
}

// Adds the block's share of the gradients; logits: their gradient as loss_of_block leaves it. The denominators of the softmax are divided out on the side of
// hidden, whose rows are short.
void add_gradients(const TokenBlock& block, const at::Tensor& hidden, at::TensorList tables,
                   const at::Tensor& logits, const at::Tensor& inverse, const CrossEntropyWanted& wanted) {
  if (wanted.dhidden.defined()) {
    const at::Tensor dhidden = block.of(wanted.dhidden);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      matmul(dhidden, logits_of(logits, tables, i), tables[i], i == 0 ? 0 : 1);
    }
    dhidden.mul_(inverse);
  }
  at::Tensor scaled;  // the same for all tables
  for (std::size_t i = 0; i < wanted.dweights.size(); ++i) {
    if (!wanted.dweights[i].defined()) continue;
    if (!scaled.defined()) {
      const at::Tensor factor =
          wanted.scale.defined() ? inverse * block.of(wanted.scale).unsqueeze(1) : inverse;
      scaled = (block.of(hidden) * factor).to(logits.scalar_type());
    }
    matmul(wanted.dweights[i], logits_of(logits, tables, i).t(), scaled, block.first == 0 ? wanted.beta : 1);
  }
}

}  // namespace

bool CrossEntropyWanted::gradient() const {
  const auto is_wanted = [](const at::Tensor& dweight) { return dweight.defined(); };
  return dhidden.defined() || std::any_of(dweights.begin(), dweights.end(), is_wanted);
}

int64_t vocabulary_rows(at::TensorList tables) {
  int64_t rows = 0;
  for (const at::Tensor& table : tables) rows += table.size(0);
  return rows;
}

void run_blocks(const at::Tensor& hidden, at::TensorList tables, const ValidTokens& valid,
                const CrossEntropyWanted& wanted, SharedVocabulary* shared) {
  // Ranks that share a vocabulary go through the same blocks, whatever the size of their parts.
  const int64_t count = hidden.size(0), own = vocabulary_rows(tables),
                block_rows = rows_per_block(shared ? shared->part.vocab_size : own);
  const auto options = hidden.options().requires_grad(false).dtype(sum_dtype(hidden.scalar_type()));
  const at::Tensor buffer = at::empty({std::min(block_rows, count), own}, options);
  // Gradients of logits are rounded to the type of the model's activations, as without blocks they would be.
  at::Tensor rounded;
  if (wanted.gradient() && hidden.scalar_type() != buffer.scalar_type()) {
    rounded = at::empty(buffer.sizes(), buffer.options().dtype(hidden.scalar_type()));
  }
  for (const at::Tensor& dweight : wanted.dweights) {
    if (count == 0 && dweight.defined() && wanted.beta == 0) dweight.zero_();
  }
  for (int64_t first = 0; first < count; first += block_rows) {
    const TokenBlock block{first, std::min(block_rows, count - first)};
    const at::Tensor logits = buffer.narrow(0, 0, block.rows);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      matmul(logits_of(logits, tables, i), block.of(hidden), tables[i].t());
    }
    const at::Tensor inverse = loss_of_block(block, logits, valid, wanted, shared);
    if (!wanted.gradient()) continue;
    const at::Tensor gradients = rounded.defined() ? rounded.narrow(0, 0, block.rows).copy_(logits) : logits;
    add_gradients(block, hidden, tables, gradients, inverse.unsqueeze(1), wanted);
  }
}

}  // namespace d9d::kernels
