#include "kernels/cross_entropy/columns.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
#include <limits>

#include "kernels/matmul.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_op.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t tokens_at_once = 512;
constexpr int64_t logits_at_once = int64_t{1} << 20;
constexpr int64_t columns_min = 1024, columns_max = 8192;

int64_t columns_for(int64_t tokens) {
  return std::clamp(logits_at_once / std::max<int64_t>(1, tokens), columns_min, columns_max);
}

// Memory of the columns that are worked on.
class Columns {
 public:
  Columns(int64_t tokens, const at::TensorOptions& sums, const at::TensorOptions& activations)
      : logits_(at::empty({tokens * columns_for(tokens)}, sums)) {
    if (activations.dtype() != sums.dtype()) rounded_ = at::empty(logits_.sizes(), activations);
  }
  at::Tensor logits(int64_t rows, int64_t count) const { return part(logits_, rows, count); }
  // In the type of the model's activations.
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

// Of tokens that all of one pass over the vocabulary is for; loss and dhidden may be undefined.
void run_tokens(const at::Tensor& hidden, at::TensorList tables, const at::Tensor& labels,
                const at::Tensor& loss, const at::Tensor& dhidden, const Columns& columns) {
  const int64_t tokens = hidden.size(0), most = columns_for(tokens);
  const at::Tensor state = at::empty({3, tokens}, hidden.options().dtype(sum_dtype(hidden.scalar_type())));
  state.zero_();
  state[0].fill_(-std::numeric_limits<double>::infinity());
  int64_t first = 0;
  for (const at::Tensor& table : tables) {
    for (int64_t begin = 0; begin < table.size(0); begin += most) {
      const at::Tensor rows = table.narrow(0, begin, std::min(most, table.size(0) - begin));
      const at::Tensor logits = columns.logits(tokens, rows.size(0));
      matmul(logits, hidden, rows.t());
      const at::Tensor factor = run_op(&OpTable::cross_entropy_online, logits, labels, first, state);
      if (dhidden.defined()) {
        if (first > 0) dhidden.mul_(factor.unsqueeze(1));
        matmul(dhidden, columns.rounded(logits), rows, first > 0 ? 1 : 0);
      }
      first += rows.size(0);
    }
  }
  const at::Tensor below = state[2] - state[0], others = state[1], total = below.exp() + others;
  if (loss.defined()) loss.copy_(total).log_().sub_(below);
  if (!dhidden.defined()) return;
  dhidden.div_(total.unsqueeze(1));
  add_label_rows(dhidden, tables, labels, (others / total).neg_());
}

}  // namespace

bool worth_columns(int64_t vocabulary, const CrossEntropyWanted& wanted) {
  return !wanted.dweight() && vocabulary > 64 * columns_min;
}

void run_columns(const at::Tensor& hidden, at::TensorList tables, const ValidTokens& valid,
                 const CrossEntropyWanted& wanted) {
  const auto options = hidden.options().requires_grad(false);
  const int64_t count = hidden.size(0), most = std::min(tokens_at_once, count);
  const Columns columns(most, options.dtype(sum_dtype(hidden.scalar_type())), options);
  for (int64_t first = 0; first < count; first += most) {
    const int64_t tokens = std::min(most, count - first);
    const auto of = [&](const at::Tensor& all) { return all.defined() ? all.narrow(0, first, tokens) : all; };
    run_tokens(of(hidden), tables, of(valid.labels), of(wanted.loss), of(wanted.dhidden), columns);
  }
}

}  // namespace d9d::kernels
