#include "kernels/cross_entropy/columns.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <limits>

#include "kernels/matmul.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

// A range of rows of a table.
struct TablePart {
  std::size_t table;
  int64_t begin, rows;
  at::Tensor of(const at::Tensor& all) const { return all.narrow(0, begin, rows); }
};

// Memory for the logits of the columns that are worked on.
class Columns {
 public:
  Columns(const HeldLogits& held, const at::TensorOptions& sums, const at::TensorOptions& activations)
      : logits_(at::empty({held.tokens * held.columns}, sums)) {
    if (held.rounded > 0) rounded_ = at::empty({held.tokens * held.rounded}, activations);
  }
  at::Tensor logits(int64_t rows, int64_t count) const { return part(logits_, rows, count); }
  // Returns the logits in the type of the model's activations.
  at::Tensor rounded(const at::Tensor& logits) const {
    return rounded_.defined() ? part(rounded_, logits.size(0), logits.size(1)).copy_(logits) : logits;
  }

 private:
  static at::Tensor part(const at::Tensor& all, int64_t rows, int64_t count) {
    return all.narrow(0, 0, rows * count).view({rows, count});
  }
  at::Tensor logits_, rounded_;
};

// dhidden += factor [n] times the label's row of the vocabulary.
void add_label_rows(const at::Tensor& dhidden, at::TensorList tables, const at::Tensor& labels,
                    const at::Tensor& factor) {
  int64_t first = 0;
  for (const at::Tensor& table : tables) {
    const int64_t rows = table.size(0);
    const at::Tensor own = ((labels >= first) & (labels < first + rows)).unsqueeze(1);
    const at::Tensor row = at::index_select(table, 0, (labels - first).clamp_(0, rows - 1));
    dhidden.addcmul_(row.to(dhidden.scalar_type()), factor.unsqueeze(1) * own);
    first += rows;
  }
}

// Calls f(part, logits, first) for each part of the vocabulary: its rows, the logits of all
// tokens, its first id.
template <class F>
void for_columns(const at::Tensor& hidden, at::TensorList tables, const Columns& columns, F&& f) {
  const int64_t tokens = hidden.size(0), most = columns_for(tokens);
  int64_t first = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (int64_t begin = 0; begin < tables[i].size(0); begin += most) {
      const TablePart part{i, begin, std::min(most, tables[i].size(0) - begin)};
      const at::Tensor logits = columns.logits(tokens, part.rows);
      matmul(logits, hidden, part.of(tables[i]).t());
      f(part, logits, first + begin);
    }
    first += tables[i].size(0);
  }
}

// The state [3, n] of cross_entropy_online after a pass over the vocabulary.
struct OnlineSoftmax {
  at::Tensor state;
  at::Tensor below() const { return state[2] - state[0]; }
  at::Tensor others() const { return state[1]; }
  at::Tensor total() const { return below().exp_() + others(); }
};

// Passes over the vocabulary once. Leaves in `dhidden`, if defined, the gradient times total(),
// without the label's part.
OnlineSoftmax softmax_of(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& labels,
                         const at::Tensor& dhidden, const Columns& columns) {
  const auto sums = hidden.options().dtype(sum_dtype(hidden.scalar_type()));
  const at::Tensor state = at::empty({3, hidden.size(0)}, sums).zero_();
  state[0].fill_(-std::numeric_limits<double>::infinity());
  for_columns(hidden, tables, columns, [&](const TablePart& part, const at::Tensor& logits, int64_t first) {
    const at::Tensor factor = run_op(&OpTable::cross_entropy_online, logits, labels, first, state);
    if (!dhidden.defined()) return;
    if (first > 0) dhidden.mul_(factor.unsqueeze(1));
    matmul(dhidden, columns.rounded(logits), part.of(tables[part.table]), first > 0 ? 1 : 0);
  });
  return {state};
}

// Adds to the gradients of the tables. The division by the denominators of the softmax is done on hidden.
void add_dweights(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& labels,
                  const OnlineSoftmax& online, const at::Tensor& scale,
                  const std::vector<at::Tensor>& dweights, double beta, const Columns& columns) {
  const at::Tensor total = online.total(), softmax = at::stack({online.state[0], total});
  const at::Tensor factor = scale.defined() ? scale / total : total.reciprocal();
  const at::Tensor scaled = (hidden * factor.unsqueeze(1)).to(hidden.scalar_type());
  for_columns(hidden, tables, columns, [&](const TablePart& part, const at::Tensor& logits, int64_t first) {
    if (!dweights[part.table].defined()) return;
    run_op(&OpTable::cross_entropy_of_part, logits, labels, first, softmax, at::Tensor());
    matmul(part.of(dweights[part.table]), columns.rounded(logits).t(), scaled, beta);
  });
}

// Computes the wanted results for tokens that pass over the vocabulary together.
void run_tokens(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& labels,
                const CrossEntropyWanted& wanted, const Columns& columns) {
  const at::Tensor& dhidden = wanted.dhidden;
  const OnlineSoftmax online = softmax_of(hidden, tables, labels, dhidden, columns);
  if (wanted.loss.defined()) wanted.loss.copy_(online.total()).log_().sub_(online.below());
  if (dhidden.defined()) {
    const at::Tensor total = online.total();
    dhidden.div_(total.unsqueeze(1));
    add_label_rows(dhidden, tables, labels, (online.others() / total).neg_());
  }
  if (wanted.dweight()) {
    add_dweights(hidden, tables, labels, online, wanted.scale, wanted.dweights, wanted.beta, columns);
  }
}

}  // namespace

void run_columns(const at::Tensor& hidden, at::TensorList tables, const ValidTokens& valid,
                 const CrossEntropyWanted& wanted, const HeldLogits& held) {
  const auto options = hidden.options().requires_grad(false);
  const int64_t count = hidden.size(0), most = std::max<int64_t>(1, held.tokens);
  const Columns columns(held, options.dtype(sum_dtype(hidden.scalar_type())), options);
  for (int64_t first = 0; first < count; first += most) {
    const int64_t tokens = std::min(most, count - first);
    const auto of = [&](const at::Tensor& all) { return all.defined() ? all.narrow(0, first, tokens) : all; };
    run_tokens(of(hidden), tables, of(valid.labels),
               {of(wanted.loss), of(wanted.dhidden), wanted.dweights, first == 0 ? wanted.beta : 1,
                of(wanted.scale)},
               columns);
  }
}

}  // namespace d9d::kernels
